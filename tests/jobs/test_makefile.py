"""The Makefile on machines with other Javas: one that Spark cannot use must not keep the right one away."""

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
STUB = "echo 'Unable to locate a Java Runtime.' >&2; exit 1"


def java(home: Path, script: str) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o755)
    return home


def says(version: str) -> str:
    return f"""echo 'openjdk version "{version}" 2025-04-15' >&2"""


def installs(tmp_path: Path, on_path: str, java_home: str = "") -> str:
    """What `make demo` would give to pip on a machine with these."""
    environment = os.environ | {
        "PATH": f"{java(tmp_path / 'path', on_path)}/bin:{os.environ['PATH']}",
        "JAVA_HOME": str(java(tmp_path / "home", java_home)) if java_home else "",
    }
    command = ["make", "--dry-run", "demo", f"VENV={tmp_path}/venv"]
    return subprocess.check_output(command, cwd=REPOSITORY, text=True, env=environment)


@pytest.mark.parametrize("script", [says("1.8.0_392"), says("11.0.2"), STUB])
def test_a_java_that_spark_cannot_use_brings_the_package(tmp_path: Path, script: str) -> None:
    assert "'.[spark,plot,java]'" in installs(tmp_path, script)


@pytest.mark.parametrize("script", [says("17.0.15"), says("25-ea")])
def test_a_java_that_spark_can_use_is_enough(tmp_path: Path, script: str) -> None:
    assert "'.[spark,plot]'" in installs(tmp_path, script)


def test_java_home_counts_even_where_path_has_an_old_one(tmp_path: Path) -> None:
    assert "'.[spark,plot]'" in installs(tmp_path, says("11.0.2"), java_home=says("17.0.15"))


def test_pip_shows_what_it_does_while_it_sets_up(tmp_path: Path) -> None:
    said = installs(tmp_path, says("17.0.15"))
    assert "pip install" in said
    assert "--quiet" not in said


def test_help_names_every_target() -> None:
    text = (REPOSITORY / "Makefile").read_text()
    targets = text.split("\n.PHONY: ")[1].split("\n")[0].split()
    said = subprocess.check_output(["make", "--no-print-directory", "help"], cwd=REPOSITORY, text=True)
    assert [line.split()[1] for line in said.splitlines()] == [name for name in targets if name != "help"]


def test_everything_ends_with_the_smoke_tests_on_the_oldest_spark(tmp_path: Path) -> None:
    command = ["make", "--no-print-directory", "--dry-run", "test", f"VENV={tmp_path}/venv", "OLDEST_PYTHON=python3.11"]
    said = subprocess.check_output(command, cwd=REPOSITORY, text=True)
    assert "constraints/spark-3.5.txt" in said
    assert "pytest -q -m smoke tests/test_smoke.py" in said.splitlines()[-1]
    chosen = subprocess.check_output([*command, "ARGS=-k name"], cwd=REPOSITORY, text=True)
    assert "spark-3.5" not in chosen

"""The runner of the benchmarks knows all of them, and says what a benchmark needs instead of starting it without."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "benchmarks"
NO_BENCHMARKS = {"run", "report_pictures", "platform_fit"}


def bench(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, BENCH / "run.py", *words], capture_output=True, text=True, check=False)


def test_every_script_is_listed() -> None:
    scripts = {path.stem for path in BENCH.glob("*.py") if '__name__ == "__main__"' in path.read_text()}
    said = bench("--list").stdout
    assert {line.split()[0] for line in said.splitlines()} == scripts - NO_BENCHMARKS


@pytest.mark.parametrize(("name", "needs"), [("stages", "--config"), ("refine", "--corpus")])
def test_a_benchmark_without_its_data_is_refused(name: str, needs: str) -> None:
    done = bench("--only", name)
    assert done.returncode == 2
    assert f"'{name}' needs {needs}" in done.stderr

"""Every verb has a job, every job is a verb, and both are the same program."""

import subprocess
import sys
from pathlib import Path

import pytest

from spectral_spark.cli.parsing import help_page
from spectral_spark.cli.verb import verbs

JOBS = Path(__file__).parents[2] / "jobs"


def test_jobs_and_verbs_are_the_same() -> None:
    assert {path.stem for path in JOBS.glob("*.py")} == set(verbs())


@pytest.mark.parametrize("name", list(verbs()))
def test_a_job_is_a_few_lines_that_name_its_verb(name: str) -> None:
    text = (JOBS / f"{name}.py").read_text()
    assert f'run_job("{name}")' in text
    assert len(text.splitlines()) < 10


def test_a_job_takes_the_flags_of_its_verb() -> None:
    page = subprocess.check_output([sys.executable, JOBS / "fit.py", "--help"], text=True)
    assert page == help_page(verbs()["fit"])

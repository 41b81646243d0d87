"""The notebooks of the documentation execute, and what is stored in them is what they show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.standalone import REPOSITORY

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat")
NOTEBOOKS = REPOSITORY / "docs" / "notebooks"


def printed(path: Path) -> list[str]:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    return ["".join(out.text for out in cell.outputs if out.output_type == "stream") for cell in cells]


def test_the_notebook_executes_and_prints_what_is_stored(tmp_path: Path) -> None:
    command = [sys.executable, NOTEBOOKS / "execute.py", "--output", tmp_path / "done", "--folder", tmp_path]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for path in NOTEBOOKS.glob("*.ipynb"):
        assert printed(tmp_path / "done" / path.name) == printed(path)


def test_the_notebook_shows_figures_and_names_no_machine() -> None:
    for path in NOTEBOOKS.glob("*.ipynb"):
        text = path.read_text()
        assert text.count('"image/png"') >= 3
        assert "/home/" not in text
        assert "/tmp/" not in text

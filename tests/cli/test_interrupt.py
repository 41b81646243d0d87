"""Ctrl-C and a scheduler's TERM: exit code 130, one line, nothing half-made."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spectral_spark.corpus.demo import simulate_demo, write_demo


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, kind: signal.Signals) -> None:
    notes, output = tmp_path / "notes.jsonl", tmp_path / "corpus"
    write_demo(simulate_demo(1000), notes)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "spectral_spark.cli", "ingest", "--source", "table", "--input", str(notes), "--text-col",
         "text", "--output", str(output), "--master", "local[1]", "--spark-conf", "spark.driver.memory=1g"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path,
    )
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob(".corpus.partial-*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(kind)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert errors == "spectral-spark: interrupted; nothing half-made was left behind\n"
    assert out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.jsonl"]

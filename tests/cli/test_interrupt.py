"""Ctrl-C and a scheduler's TERM: exit code 130, one line, nothing half-made."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spectral_spark.cli.interrupts import Interrupts
from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo
from tests.cluster.standalone import fresh_environment

ONCE, AGAIN_AND_AGAIN = 1, 4


@pytest.mark.parametrize(("kind", "times"), [(signal.SIGINT, ONCE), (signal.SIGTERM, ONCE),
                                             (signal.SIGINT, AGAIN_AND_AGAIN)])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, kind: signal.Signals, times: int) -> None:
    notes, output = tmp_path / "notes.jsonl", tmp_path / "corpus"
    write_demo(simulate_demo(1000), notes)
    environment = fresh_environment()
    process = subprocess.Popen(
        [sys.executable, "-m", "spectral_spark.cli", "ingest", "--source", "table", "--input", str(notes), "--text-col",
         "text", "--output", str(output), "--master", "local[1]", "--spark-conf", "spark.driver.memory=1g"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path,
    )
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob(".corpus.partial-*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    for _ in range(times):
        process.send_signal(kind)
        time.sleep(0.01)                    # all of them long before Spark has stopped
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    *progress, last = errors.splitlines()
    assert last == "spectral-spark: interrupted; nothing half-made was left behind"
    assert all(line.endswith(" …") or line.endswith(" s") for line in progress), errors
    assert out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.jsonl"]


def test_signals_after_the_work_are_only_noted() -> None:
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)      # the first is still on its way
        interrupts.settle()
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert interrupts.received


def test_an_interrupt_lost_in_a_callback_comes_again() -> None:
    class Careless:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def work() -> None:
        careless = Careless()
        del careless                        # the interpreter cannot raise what happens in here
        time.sleep(30)

    with Interrupts(), pytest.raises(KeyboardInterrupt):
        work()


def test_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), sys.unraisablehook
    with Interrupts():
        pass
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), sys.unraisablehook) == before

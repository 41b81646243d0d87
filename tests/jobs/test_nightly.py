"""The night pipeline over many nights, run for real; only the start of a new Spark for every verb is spared.

``nightly.sh`` calls a command that hands its words to this process, which runs the verb in the session of the tests and
gives back its exit code.
"""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from spectral_spark.cli.run import main

REPOSITORY = Path(__file__).parents[2]
SCRIPT = REPOSITORY / "conf" / "pipeline" / "nightly.sh"
WORDS = {"sea": ["sail", "boat", "wind", "rope", "deck"], "kitchen": ["oven", "flour", "salt", "dough", "spoon"]}
CLIENT = """#!{python}
import json, socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect({address!r})
line.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
sys.exit(int(line.makefile().readline()))
"""
Nights = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def night(tmp_path: Path, spark: Any) -> Nights:
    """Runs ``nightly.sh`` and serves the verbs that it calls; ``fail`` names verbs that end with exit code 1."""
    address, client = str(tmp_path / "line"), tmp_path / "spectral-spark"
    client.write_text(CLIENT.format(python=sys.executable, address=address))
    client.chmod(0o755)

    def run(run_date: str, source: Path, *, fail: tuple[str, ...] = (), **settings: str) -> Any:
        environment = {
            **os.environ, "SPECTRAL_SPARK": str(client), "RETRY_SECONDS": "0",
            "INGEST_FLAGS": "--source folders --min-documents 2 --holdout 6",
            "FIT_FLAGS": "--k 2 --refine-passes 1 --explore-sweeps 5", **settings,
        }
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(address)
            server.listen()
            server.settimeout(0.1)
            process = subprocess.Popen(
                [str(SCRIPT), run_date, str(tmp_path / "store"), str(source)], env=environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
            called = []
            while process.poll() is None:
                try:
                    line, _ = server.accept()
                except TimeoutError:
                    continue
                with line:
                    line.settimeout(30)
                    words = json.loads(line.makefile().readline())
                    called.append(words[0])
                    line.sendall(f"{1 if words[0] in fail else main(words, spark)}\n".encode())
        os.unlink(address)
        output, errors = process.communicate()
        done = subprocess.CompletedProcess(process.args, process.returncode, output, errors)
        done.called = called  # type: ignore[attr-defined]
        return done

    return run


def write_day(folder: Path, numbers: range) -> Path:
    """A note of each group for every number; the same number is the same note on every day."""
    for group, words in WORDS.items():
        (folder / group).mkdir(parents=True, exist_ok=True)
        for number in numbers:
            rng = np.random.default_rng([number, len(group)])
            (folder / group / f"{number}.txt").write_text(" ".join(rng.choice(words, 15)))
    return folder


def trained(store: Path, day: str) -> set[str]:
    """Ids of the documents of a night that are not held out."""
    table = pq.read_table(store / f"run_date={day}" / "corpus" / "documents", columns=["doc_id", "split"])
    return {row["doc_id"] for row in table.to_pylist() if row["split"] == "train"}


@pytest.mark.timeout(900)
def test_twenty_nights_count_every_document_once(night: Nights, tmp_path: Path) -> None:
    store, inputs = tmp_path / "store", tmp_path / "in"
    inputs.mkdir()
    days = [f"2026-03-{number:02d}" for number in range(1, 21)]
    empty, late, failing, repeated = {days[3], days[8]}, days[5], days[10], days[13]
    for place, day in enumerate(days):
        if day not in empty | {late}:
            write_day(inputs / day, range(20 * place, 20 * place + 24))      # four notes are of the next day, too
    (inputs / days[8]).mkdir()                                              # an empty folder; the other has none
    for day in days:
        done = night(day, inputs / day, fail=("update",) if day == failing else ())
        if day == failing:
            assert done.returncode == 1, done.stderr
            assert done.called.count("update") == 3
        else:
            assert done.returncode == 0, (day, done.stderr)
        if day in empty | {late}:
            assert "there are no documents of" in done.stdout
            assert done.called == []
    write_day(inputs / late, range(100, 124))
    for day in (late, failing, repeated):
        done = night(day, inputs / day)
        assert done.returncode == 0, (day, done.stderr)
    assert done.called == []                                                # a repeated day: everything is there

    order = (store / "nights").read_text().split()
    assert order[-2:] == [f"run_date={late}", f"run_date={failing}"]
    assert sorted(order) == sorted(f"run_date={day}" for day in days if day not in empty)
    newest = store / order[-1] / "model"
    summary = json.loads((newest / "summary.json").read_text())
    expected = set().union(*(trained(store, day) for day in days if day not in empty))
    assert summary["documents"] + sum(summary["dropped"].values()) == len(expected)
    for day in days:
        if day not in empty:
            page = (store / f"run_date={day}" / "report.html").read_text()
            assert re.search(rf"<title>[^<]*{day}", page), day


def test_mistakes_are_not_tried_again(night: Nights, tmp_path: Path) -> None:
    wrong = night("2026-03-01", write_day(tmp_path / "in" / "a", range(12)), FIT_FLAGS="--k none")
    assert wrong.returncode == 2
    assert wrong.called == ["ingest", "fit"]
    absent = night("2026-03-01", tmp_path / "in" / "a", SPECTRAL_SPARK="no-such-command")
    assert absent.returncode == 2
    assert "there is no command 'no-such-command'" in absent.stderr
    nowhere = night("2026-03-02", tmp_path / "no" / "folder")
    assert nowhere.returncode == 2
    assert "nor the folder it should be in" in nowhere.stderr


def test_a_night_killed_between_its_model_and_the_list_is_not_forgotten(night: Nights, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for number, day in enumerate(("2026-03-01", "2026-03-02")):
        done = night(day, write_day(tmp_path / "in" / day, range(20 * number, 20 * number + 20)),
                     STEPS="ingest model")
        assert done.returncode == 0, done.stderr
    (store / "nights").write_text("run_date=2026-03-01\n")                   # as if the second had been killed there
    done = night("2026-03-03", write_day(tmp_path / "in" / "3", range(40, 60)), STEPS="ingest model")
    assert done.returncode == 0, done.stderr
    assert (store / "nights").read_text().split() == [f"run_date=2026-03-0{number}" for number in (1, 2, 3)]
    summary = json.loads((store / "run_date=2026-03-03" / "model" / "summary.json").read_text())
    counted = summary["documents"] + sum(summary["dropped"].values())
    assert counted == sum(len(trained(store, f"2026-03-0{number}")) for number in (1, 2, 3))

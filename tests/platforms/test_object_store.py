"""Corpus, checkpoints, model and report on an object store, through Spark's own connector and settings."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark import SpectralHDPModel
from spectral_spark.cli.run import main
from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.directories import exists, new_directory, open_directory, resolve
from spectral_spark.files.formats import BASIS_KIND, UNFINISHED
from spectral_spark.files.hadoop import hadoop_handler
from spectral_spark.files.locking import only_writer
from spectral_spark.files.owners import this_owner
from spectral_spark.files.paths import remove
from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo
from tests.platforms.store import Store

pytestmark = pytest.mark.platforms
ABROAD = {"host": "another-machine", "pid": 4, "started": 1, "since": 1.7e9}


def save(path: str, *, value: float = 1.0, overwrite: bool = False, failing: bool = False) -> None:
    with new_directory(path, BASIS_KIND, 1, overwrite=overwrite) as staging:
        staging.write_array("numbers", np.arange(5.0) * value)
        if failing:
            raise RuntimeError("half-way")


def read(path: str) -> float:
    return float(open_directory(path, BASIS_KIND, 1).read_array("numbers")[1])


def put(path: str, value: object) -> None:
    filesystem, inside = resolve(path)
    with filesystem.open_output_stream(inside) as sink:
        sink.write(json.dumps(value).encode())


def names(path: str) -> list[str]:
    from pyarrow import fs

    filesystem, inside = resolve(path)
    found = filesystem.get_file_info(fs.FileSelector(inside, recursive=True, allow_not_found=True))
    return sorted(info.path.removeprefix(f"{inside}/") for info in found if info.type == fs.FileType.File)


def test_the_pipeline_gives_the_same_topics_as_on_a_local_disk(spark: Any, tmp_path: Path) -> None:
    write_demo(simulate_demo(400), tmp_path / "notes.jsonl")
    topics = []
    for root in (str(tmp_path), "s3a://data/pipeline"):
        corpus, model = f"{root}/corpus", f"{root}/model"
        assert main(["ingest", "--source", "table", "--input", str(tmp_path / "notes.jsonl"), "--output", corpus,
                     "--text-col", "text", "--path-cols", "region,town", "--id-col", "id", "--quiet"], spark) == 0
        assert main(["fit", "--corpus", corpus, "--model", model, "--k", "5", "--checkpoint-dir", f"{root}/kept",
                     "--quiet"], spark) == 0
        assert main(["score", "--corpus", corpus, "--model", model, "--output", f"{root}/scores", "--quiet"],
                    spark) == 0
        assert main(["report", "--model", model, "--output", f"{root}/report.html", "--quiet"], spark) == 0
        topics.append(SpectralHDPModel.load(model).topicsMatrix())
    np.testing.assert_array_equal(topics[0], topics[1])
    left = names("s3a://data/pipeline")
    assert "report.html" in left
    assert not [name for name in left if UNFINISHED in name or ".lock" in name or name.startswith("kept/")]


def test_only_one_of_many_creates_a_file(spark: Any) -> None:
    filesystem, inside = resolve("s3a://data/race/mark")
    handler = hadoop_handler(filesystem)
    assert handler is not None
    won: list[int] = []
    threads = [threading.Thread(target=lambda n=n: won.append(n) if handler.create(inside, b"%d" % n) else None)
               for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    with filesystem.open_input_stream(inside) as source:
        assert source.read() == b"%d" % won[0]


def test_a_second_writer_is_refused_and_told_who_writes(spark: Any) -> None:
    refused = pytest.raises(InputError, match=r"another run is writing .*process \d+ on")
    with only_writer("s3a://data/one/model"), refused, only_writer("s3a://data/one/model"):
        pass
    put("s3a://data/two/model/_unfinished.json", {"kind": BASIS_KIND} | ABROAD)
    with pytest.raises(InputError, match="exists"):
        save("s3a://data/two/model")
    save("s3a://data/two/model", overwrite=True)            # whoever says so sweeps what a killed run has left
    assert open_directory("s3a://data/two/model", BASIS_KIND, 1).has("numbers.npy")
    put("s3a://data/two/other/_unfinished.json", {"kind": BASIS_KIND} | this_owner())
    with pytest.raises(InputError, match="another run is writing"):
        save("s3a://data/two/other", overwrite=True)        # this process lives


def test_a_failure_leaves_nothing_and_a_crash_nothing_that_looks_complete(spark: Any) -> None:
    with pytest.raises(RuntimeError, match="half-way"):
        save("s3a://data/failed", failing=True)
    assert names("s3a://data/failed") == []
    put("s3a://data/crashed/_unfinished.json", {"kind": BASIS_KIND} | this_owner() | {"pid": 2**22 + 1})
    put("s3a://data/crashed/numbers.npy", [])
    with pytest.raises(FormatError, match=r"has no manifest\.json"):
        open_directory("s3a://data/crashed", BASIS_KIND, 1)
    save("s3a://data/crashed", overwrite=True)
    assert names("s3a://data/crashed") == ["manifest.json", "numbers.npy"]


@pytest.mark.parametrize("fault", ["throttle", "error", "truncate"])
def test_passing_faults_are_waited_for(spark: Any, store: Store, fault: str) -> None:
    with store.failing(fault, "PUT", "numbers.npy", times=1):
        save(f"s3a://data/passing/{fault}")
    saved = open_directory(f"s3a://data/passing/{fault}", BASIS_KIND, 1)
    np.testing.assert_array_equal(saved.read_array("numbers"), np.arange(5.0))


@pytest.mark.parametrize("fault", ["throttle", "error", "truncate", "denied"])
def test_lasting_faults_leave_nothing_that_looks_complete(spark: Any, store: Store, fault: str) -> None:
    path = f"s3a://data/lasting/{fault}"
    with store.failing(fault, "PUT", "manifest.json", times=1000), pytest.raises(OSError, match=r"manifest|denied"):
        save(path)
    assert not exists(path)
    save(path)


@pytest.mark.parametrize("fault", ["throttle", "error", "truncate", "denied"])
def test_an_overwrite_that_fails_leaves_the_old_output(spark: Any, store: Store, fault: str) -> None:
    path = f"s3a://data/kept/{fault}/model"
    save(path)
    for part in ("numbers.npy", "manifest.json", "switch.json"):
        failing = store.failing(fault, "PUT", part, times=1000)
        with failing, pytest.raises(OSError, match=r"numbers|manifest|switch|denied"):
            save(path, value=2.0, overwrite=True)
        assert read(path) == 1.0
    with pytest.raises(RuntimeError, match="half-way"):
        save(path, value=2.0, overwrite=True, failing=True)
    assert read(path) == 1.0
    save(path, value=2.0, overwrite=True)
    assert read(path) == 2.0
    assert names(f"s3a://data/kept/{fault}") == ["model/manifest.json", "model/numbers.npy"]


def test_a_run_killed_in_an_overwrite_leaves_the_old_output_or_the_new_one(spark: Any, store: Store) -> None:
    path, gone = "s3a://data/half/model", this_owner() | {"pid": 2**22 + 1}
    save(path)
    put("s3a://data/half/.model.version-1/_unfinished.json", gone)                      # killed before the switch
    put("s3a://data/half/.model.version-1/numbers.npy", [])
    assert read(path) == 1.0
    save("s3a://data/half/.model.version-2", value=2.0)                                 # and after it
    put("s3a://data/half/.model.switch.json", {"version": ".model.version-2", "files": ["manifest.json", "numbers.npy"]}
        | gone)
    assert read(path) == 2.0
    save(path, value=3.0, overwrite=True)
    assert read(path) == 3.0
    assert names("s3a://data/half") == ["model/manifest.json", "model/numbers.npy"]


def test_a_corpus_and_scores_are_overwritten_too(spark: Any, tmp_path: Path) -> None:
    for seed in (1, 2):
        write_demo(simulate_demo(200, seed), tmp_path / f"{seed}.jsonl")
        assert main(["ingest", "--source", "table", "--input", str(tmp_path / f"{seed}.jsonl"), "--output",
                     "s3a://data/again/corpus", "--text-col", "text", "--path-cols", "region,town", "--id-col", "id",
                     "--overwrite", "--quiet"], spark) == 0
        assert main(["fit", "--corpus", "s3a://data/again/corpus", "--model", "s3a://data/again/model", "--k", "3",
                     "--overwrite", "--quiet"], spark) == 0
        assert main(["score", "--corpus", "s3a://data/again/corpus", "--model", "s3a://data/again/model", "--output",
                     "s3a://data/again/scores", "--overwrite", "--quiet"], spark) == 0
    assert spark.read.parquet("s3a://data/again/scores").count() > 100
    assert not [name for name in names("s3a://data/again") if name.startswith(".")]


def test_a_store_that_does_not_answer_is_said_at_once(spark: Any, capsys: Any) -> None:
    spark.conf.set("fs.s3a.bucket.away.endpoint", "http://127.0.0.1:1")
    started = time.monotonic()
    words = ["fit", "--model", "s3a://data/never/model", "--k", "3", "--quiet", "--corpus", "s3a://away/corpus"]
    assert main(words, spark) in (1, 2)
    said = capsys.readouterr().err
    assert "does not answer at 127.0.0.1:1" in said
    assert len(said.strip().splitlines()) <= 2
    assert time.monotonic() - started < 15
    assert names("s3a://data/never") == []


def test_what_is_wrong_with_a_store_is_said_in_one_sentence(spark: Any, store: Store, capsys: Any) -> None:
    words = ["fit", "--model", "s3a://data/never/model", "--k", "3", "--quiet", "--corpus"]
    assert main([*words, "s3a://no-such-bucket/corpus"], spark) == 2
    assert "there is no such bucket" in capsys.readouterr().err
    with store.failing("expired", "HEAD", "/data/expired", times=1000), \
            store.failing("expired", "GET", "/data", times=1000):
        assert main([*words, "s3a://data/expired/corpus"], spark) in (1, 2)
    said = capsys.readouterr().err
    assert "expired" in said
    assert len(said.strip().splitlines()) <= 2
    assert main([*words, "gs://bucket/corpus"], spark) == 2
    assert "Spark has no connector for it" in capsys.readouterr().err
    assert names("s3a://data/never") == []
    remove("s3a://data/never")

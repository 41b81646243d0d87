"""Outputs on HDFS: a directory appears by one rename, one writer at a time, and what a killed run left is swept."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark.cli.run import main
from spectral_spark.errors import InputError
from spectral_spark.files.directories import exists, new_directory, open_directory, resolve
from spectral_spark.files.formats import BASIS_KIND
from spectral_spark.files.leftovers import staging_name
from spectral_spark.files.locking import only_writer
from spectral_spark.files.owners import this_owner
from spectral_spark.files.staging import write_file
from tests.platforms.hadoop_cluster import HadoopCluster
from tests.platforms.store import Store, free_port, maven_jars
from tests.platforms.test_object_store import ABROAD, names, put, save

pytestmark = pytest.mark.platforms
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an HDFS of one NameNode and one DataNode."""
    jars = maven_jars(HERE / "hadoop.pom.xml", HERE.parents[1] / "build" / "jars")
    cluster = HadoopCluster(tmp_path_factory.mktemp("hdfs"), jars, nodes=0).start()
    yield cluster.files
    cluster.stop()


def numbers(path: str) -> np.ndarray:
    return open_directory(path, BASIS_KIND, 1).read_array("numbers")


def gone(name: str) -> str:
    """The name of a staging directory as a process of this machine leaves it that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    machine, _, _, mark = staging_name(name).rpartition(".partial-")[2].split("-")
    return f".{name}.partial-{machine}-{process.pid}-1-{mark}"


def test_a_directory_appears_by_a_rename_and_replaces_only_its_kind(spark: Any, hdfs: str) -> None:
    path = f"{hdfs}/renamed/model"
    with new_directory(path, BASIS_KIND, 1) as staging:
        staging.write_array("numbers", np.arange(5.0))
        assert not exists(path)
        assert ".model.partial-" in staging.path
    assert names(f"{hdfs}/renamed") == ["model/manifest.json", "model/numbers.npy"]
    with pytest.raises(InputError, match="exists"):
        save(path)
    with new_directory(path, BASIS_KIND, 1, overwrite=True) as staging:
        staging.write_array("numbers", np.ones(2))
        assert len(numbers(path)) == 5                      # the old one stays until the new one is whole
    assert len(numbers(path)) == 2
    with pytest.raises(RuntimeError, match="half-way"):
        save(path, overwrite=True, failing=True)
    assert len(numbers(path)) == 2
    put(f"{hdfs}/renamed/other/mine.txt", "dear to me")
    with pytest.raises(InputError, match="a directory of other things"):
        save(f"{hdfs}/renamed/other", overwrite=True)
    assert names(f"{hdfs}/renamed") == ["model/manifest.json", "model/numbers.npy", "other/mine.txt"]


def test_what_appears_meanwhile_is_neither_replaced_nor_written_into(spark: Any, hdfs: str) -> None:
    """``FileSystem.rename`` of HDFS would move the new directory into the one that has appeared."""
    path = f"{hdfs}/meanwhile/model"

    def write_late() -> None:
        with new_directory(path, BASIS_KIND, 1) as staging:
            staging.write_array("numbers", np.arange(3.0))
            put(f"{path}/mine.txt", "dear to me")

    with pytest.raises(InputError, match="exists"):
        write_late()
    assert names(f"{hdfs}/meanwhile") == ["model/mine.txt"]


def test_a_file_is_replaced_in_one_step(spark: Any, hdfs: str) -> None:
    path = f"{hdfs}/files/numbers.json"
    write_file(path, b"first")
    with pytest.raises(InputError, match="exists"):
        write_file(path, b"second")
    filesystem, inside = resolve(path)
    filesystem.delete_file(inside)
    write_file(path, b'{"loss": 1, "unigram_loss": 2, "tokens": 3}')
    write_file(path, b"second", "evaluation", overwrite=True)
    with filesystem.open_input_stream(inside) as source:
        assert source.read() == b"second"
    assert names(f"{hdfs}/files") == ["numbers.json"]


def test_one_writer_at_a_time_until_it_is_gone(spark: Any, hdfs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, lock = f"{hdfs}/locked/model", f"{hdfs}/locked/.model.lock"
    refused = pytest.raises(InputError, match=r"another run is writing .*process \d+ on")
    with only_writer(path), refused, only_writer(path):
        pass
    put(lock, this_owner() | {"pid": 2**22 + 1})            # killed, on this machine
    with only_writer(path):
        pass
    put(lock, ABROAD | {"application": "1700000000000_0007", "attempt": "01"})
    with pytest.raises(InputError, match="remove 'hdfs://"), only_writer(path):
        pass
    monkeypatch.setenv("CONTAINER_ID", "container_e03_1700000000000_0007_02_000001")
    with only_writer(path):                                 # YARN has started the driver of that lock again, here
        pass
    assert names(f"{hdfs}/locked") == []


def test_what_killed_runs_left_is_put_back_and_swept(spark: Any, hdfs: str) -> None:
    path, beside = f"{hdfs}/killed/model", f"{hdfs}/killed/{gone('model')}"
    save(path)
    filesystem, inside = resolve(path)
    aside = resolve(f"{beside}/old/model")[1]
    filesystem.create_dir(aside.rpartition("/")[0], recursive=True)
    put(f"{beside}/new/model/numbers.npy", "half of it")
    filesystem.move(inside, aside)                          # killed between the two renames of an overwrite
    assert exists(path)
    assert len(numbers(path)) == 5
    save(f"{hdfs}/killed/another")                          # any write beside it sweeps
    assert names(f"{hdfs}/killed") == [
        "another/manifest.json", "another/numbers.npy", "model/manifest.json", "model/numbers.npy"]
    living = f"{hdfs}/killed/{staging_name('model')}"
    put(f"{living}/new/model/numbers.npy", "not finished yet")
    save(f"{hdfs}/killed/third")
    assert exists(living)


@pytest.mark.timeout(300)
def test_what_is_wrong_with_hdfs_is_said_in_one_sentence(
    spark: Any, hdfs: str, store: Store, capsys: Any, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    wrong = {
        store.address.replace("http:", "hdfs:") + "/corpus": "something else than a NameNode answers",
        f"hdfs://127.0.0.1:{free_port()}/corpus": "does not answer",
        "hdfs://no-such-name-node:8020/corpus": "does not answer",
        f"{hdfs}/no/such/corpus": "there is nothing at",
        "hdfs:/corpus": "cannot reach",
    }
    for corpus, said in wrong.items():
        started = time.monotonic()
        assert main(["fit", "--corpus", corpus, "--model", str(model), "--k", "3", "--quiet"], spark) in (1, 2), corpus
        error = capsys.readouterr().err
        assert said in error
        assert len(error.strip().splitlines()) == 1
        assert time.monotonic() - started < 60
    assert main(["fit", "--corpus", "/no/such/corpus", "--model", f"hdfs://127.0.0.1:{free_port()}/m", "--k", "3"],
                spark) in (1, 2)
    assert not list(tmp_path.iterdir())

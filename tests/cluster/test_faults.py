"""Processes die in the middle of a fit or an update, on real clusters, or both run through Spark Connect: the same bits
come out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.standalone import StandaloneCluster, fresh_environment, submit

pytestmark = pytest.mark.cluster
SCRIPT = Path(__file__).parent / "fit_under_fire.py"


def fit(master: str, package_zip: Path, place: Path, name: str, *orders: str) -> tuple[int, dict]:
    answer = place / f"{name}.json"
    done = submit(master, SCRIPT, [str(answer), *orders], py_files=package_zip)
    if not answer.exists():
        return done.returncode, {"errors": done.stderr[-3000:]}
    return done.returncode, json.loads(answer.read_text())


@pytest.fixture(scope="module")
def clean(package_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Of an undisturbed fit by the driver alone."""
    code, answer = fit("local[2]", package_zip, tmp_path_factory.mktemp("clean"), "clean", "entries=1000000")
    assert code == 0, answer
    return hashes(answer)


def hashes(answer: dict) -> tuple[str, str]:
    """Of the fitted and of the updated model."""
    assert answer["hash"] != answer["updated"]
    return answer["hash"], answer["updated"]


def test_local_cluster_with_a_killed_executor_and_worker(
    package_zip: Path, tmp_path: Path, clean: tuple[str, str]
) -> None:
    code, answer = fit(
        "local-cluster[2,1,1024]", package_zip, tmp_path, "hit", "executor=sampling all", "worker=refine"
    )
    assert code == 0, answer
    assert sorted(answer["killed"]) == ["executor", "worker"]
    assert hashes(answer) == clean


def test_standalone_with_a_killed_executor_and_worker(
    standalone_cluster: StandaloneCluster, package_zip: Path, tmp_path: Path, clean: tuple[str, str]
) -> None:
    code, answer = fit(standalone_cluster.url, package_zip, tmp_path, "hit", "executor=range 1", "worker=sampling all")
    assert code == 0, answer
    assert sorted(answer["killed"]) == ["executor", "worker"]
    assert hashes(answer) == clean


def test_driver_killed_in_every_pass_here_and_on_standalone(
    standalone_cluster: StandaloneCluster, package_zip: Path, tmp_path: Path, clean: tuple[str, str]
) -> None:
    kept = f"checkpoints={tmp_path / 'steps'}"
    here, there = "local[2]", standalone_cluster.url
    for master, where in ((here, "range 2"), (there, "moments"), (here, "refine 1"), (there, "fold in")):
        code, answer = fit(master, package_zip, tmp_path, f"dead in {where}", f"driver={where}", kept)
        assert code != 0
        assert "updated" not in answer
    assert not {"range 1", "range 2", "moments"} & set(answer["passes"])
    code, answer = fit("local[2]", package_zip, tmp_path, "resumed", kept)
    assert code == 0, answer
    assert hashes(answer) == clean
    assert "moments" not in answer["later_passes"]
    assert not any((tmp_path / "steps").iterdir())


def test_spark_connect_gives_the_same_model(tmp_path: Path, clean: tuple[str, str]) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    answer = tmp_path / "connect.json"
    environment = fresh_environment()
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(answer), "inside=5000"], capture_output=True, text=True, check=False,
        timeout=600,
        env=environment | {"SPARK_REMOTE": "local[2]", "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert hashes(json.loads(answer.read_text())) == clean

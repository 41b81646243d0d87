"""``spark-submit --master yarn`` in both deploy modes with a packed environment, and a node lost in a fit.

Corpus, checkpoints and models are on HDFS; NameNode, DataNode, ResourceManager and two NodeManagers run on loopback.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark import SpectralHDPModel
from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo
from tests.cluster.standalone import REPOSITORY, fresh_environment, spark_script, submit
from tests.docs.pages import commands
from tests.platforms.hadoop_cluster import HadoopCluster
from tests.platforms.store import maven_jars
from tests.platforms.test_object_store import names
from tests.platforms.yarn_submit import packed_environment, yarn_settings

pytestmark = [pytest.mark.platforms, pytest.mark.timeout(1800)]
HERE = Path(__file__).parent
CACHE = REPOSITORY / "build"
UNDER_FIRE = HERE.parent / "cluster" / "fit_under_fire.py"


@pytest.fixture(scope="module")
def archive() -> Path:
    return packed_environment(CACHE)


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopCluster]:
    jars = maven_jars(HERE / "hadoop.pom.xml", CACHE / "jars")
    cluster = HadoopCluster(tmp_path_factory.mktemp("yarn"), jars, nodes=2).start()
    yield cluster
    cluster.stop()


class Submitter:
    """Starts applications; everything is worked on by executors."""

    def __init__(self, cluster: HadoopCluster, archive: Path, package: Path) -> None:
        self.cluster, self._archive, self._package = cluster, archive, package

    def start(
        self, mode: str, script: Path, words: Sequence[str], more: Sequence[Path] = ()
    ) -> "subprocess.Popen[str]":
        settings = yarn_settings(mode) | {
            "spark.spectral.driverEntries": "0", "spark.driver.memory": "1g", "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4",
        }
        command = self.documented(mode, ",".join(map(str, (self._package, *more))))
        command += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        environment = fresh_environment() | {"HADOOP_CONF_DIR": str(self.cluster.configuration),
                                             "SPARK_LOCAL_IP": "127.0.0.1"}
        environment.pop("PYTHONPATH", None)                 # what containers run comes in the archives
        return subprocess.Popen([*command, str(script), *words], env=environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def documented(self, mode: str, py_files: str) -> list[str]:
        """The command of the guide up to its script, with the files of this test in place of those it names."""
        line = next(line for line in commands("docs/guides/deploying.md")
                    if line.startswith(f"spark-submit --master yarn --deploy-mode {mode} "))
        words = shlex.split(line)
        ours = {
            "spark-submit": spark_script("spark-submit"), "env.tar.gz#env": f"{self._archive}#env",
            "spectral_spark.zip": py_files, "conf/spark-defaults.conf": f"{REPOSITORY}/conf/spark-defaults.conf",
            "spark.pyspark.driver.python=python": f"spark.pyspark.driver.python={sys.executable}",
        }
        assert set(ours) - set(words) <= {"spark.pyspark.driver.python=python"}
        return [ours.get(word, word) for word in words[: words.index("jobs/fit.py")]]

    def run(self, mode: str, script: Path, words: Sequence[str]) -> str:
        """What it said on standard error; it must succeed."""
        started = self.start(mode, script, words)
        _, said = started.communicate(timeout=1500)
        assert started.returncode == 0, f"{said[-3000:]}\n{self.container_logs()[-6000:]}"
        return said

    def container_logs(self, last: int = 4) -> str:
        """What the last containers have written."""
        logs = sorted(self.cluster.scratch.glob("node-*/logs/*/*/std*"), key=lambda log: log.stat().st_mtime)
        return "\n".join(f"{log}:\n{log.read_text(errors='replace')}" for log in logs[-last:])


@pytest.fixture(scope="module")
def submitter(yarn: HadoopCluster, archive: Path, package_zip: Path) -> Submitter:
    return Submitter(yarn, archive, package_zip)


def test_both_modes_give_the_topics_of_a_local_disk(submitter: Submitter, spark: Any, tmp_path: Path) -> None:
    from spectral_spark.cli.run import main

    write_demo(simulate_demo(400), tmp_path / "notes.jsonl")
    root = f"{submitter.cluster.files}/demo"
    ingest = ["--source", "table", "--input", str(tmp_path / "notes.jsonl"), "--text-col", "text", "--path-cols",
              "region,town", "--id-col", "id"]
    jobs = REPOSITORY / "jobs"
    submitter.run("client", HERE.parent / "jobs" / "several_verbs.py", [_listed(tmp_path, [
        ["ingest", *ingest, "--output", f"{root}/corpus", "--quiet"],
        ["fit", "--corpus", f"{root}/corpus", "--model", f"{root}/client", "--k", "5", "--checkpoint-dir",
         f"{root}/kept", "--quiet"],
        ["score", "--corpus", f"{root}/corpus", "--model", f"{root}/client", "--output", f"{root}/scores", "--quiet"],
        ["report", "--model", f"{root}/client", "--output", f"{root}/report.html", "--quiet"],
    ])])
    submitter.run("cluster", jobs / "fit.py", ["--corpus", f"{root}/corpus", "--model", f"{root}/cluster", "--k", "5",
                                               "--checkpoint-dir", f"{root}/kept"])
    assert main(["ingest", *ingest, "--output", str(tmp_path / "corpus"), "--quiet"], spark) == 0
    assert main(["fit", "--corpus", str(tmp_path / "corpus"), "--model", str(tmp_path / "model"), "--k", "5",
                 "--quiet"], spark) == 0
    expected = SpectralHDPModel.load(str(tmp_path / "model")).topicsMatrix()
    for mode in ("client", "cluster"):
        np.testing.assert_array_equal(SpectralHDPModel.load(f"{root}/{mode}").topicsMatrix(), expected)
    left = names(root)
    assert "report.html" in left
    assert not [name for name in left if ".partial-" in name or ".lock" in name or name.startswith("kept/")]


def test_a_failure_in_cluster_mode_reaches_who_submitted(submitter: Submitter) -> None:
    root = submitter.cluster.files
    started = submitter.start("cluster", REPOSITORY / "jobs" / "fit.py", [
        "--corpus", f"{root}/no/such/corpus", "--model", f"{root}/never", "--k", "5"])
    _, said = started.communicate(timeout=1500)
    assert started.returncode != 0
    said = submitter.container_logs(12)
    assert "spectral-spark: --corpus: there is nothing at" in said, said[-8000:]


def test_a_lost_node_changes_nothing(submitter: Submitter, package_zip: Path, tmp_path: Path) -> None:
    clean, answer = tmp_path / "clean.json", tmp_path / "hit.json"
    done = submit("local[2]", UNDER_FIRE, [str(clean), "entries=1000000"], py_files=package_zip)
    assert done.returncode == 0, done.stderr[-3000:]
    started = submitter.start("client", HERE / "fit_with_a_signal.py", [str(answer), "node=moments"], [UNDER_FIRE])
    signal = Path(f"{answer}.now")
    while not signal.exists() and started.poll() is None:
        time.sleep(0.05)
    assert signal.exists(), started.communicate()[1][-3000:]
    lost = node_with_an_executor(submitter.cluster)
    submitter.cluster.kill_node(lost)
    _, said = started.communicate(timeout=1500)
    assert started.returncode == 0, said[-3000:]
    found, expected = (json.loads(path.read_text()) for path in (answer, clean))
    assert (found["hash"], found["updated"]) == (expected["hash"], expected["updated"])
    assert "Lost executor" in said or "lost" in said


def node_with_an_executor(cluster: HadoopCluster) -> Any:
    """A node that works on the fit, and not the one of the application's master if there is a choice."""
    busy = [node for node in cluster.nodes if cluster.containers_of(node, "CoarseGrainedExecutorBackend")]
    assert busy
    return min(busy, key=lambda node: len(cluster.containers_of(node, "ExecutorLauncher")))


def _listed(folder: Path, commands: list[list[str]]) -> str:
    path = folder / "commands.json"
    path.write_text(json.dumps(commands))
    return os.fspath(path)

"""The platforms of ``platforms.py``: how each is started on this machine, and what a worker is called with there."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "benchmarks" / "platform_fit.py"
QUIET = {"spark.ui.enabled": "false", "spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "4",
         "spark.driver.bindAddress": "127.0.0.1"}
ON_EXECUTORS = {"spark.spectral.driverEntries": "0"}


class NotRun(Exception):
    """A platform that this machine cannot be, with the reason."""


@dataclass(frozen=True)
class Setting:
    """Where environments, jars, scratch files and answers are."""

    cache: Path
    scratch: Path
    seconds: int


@dataclass(frozen=True)
class Started:
    """A platform that runs: the words before those of the worker, their environment, and where outputs go."""

    command: list[str]
    environment: dict[str, str]
    place: str


Start = Callable[[Setting], AbstractContextManager[Started]]


@dataclass(frozen=True)
class Platform:
    """One row of the table.

    Attributes
    ----------
    what : how the table calls it.
    start : starts it for as long as a block lasts.
    """

    what: str
    start: Start


def environment_of(setting: Setting, name: str, requirements: Sequence[str]) -> Path:
    """The Python of a virtual environment that is made once."""
    folder, done = setting.cache / name, setting.cache / f"{name}.complete"
    python = folder / "bin" / "python"
    if not done.exists():
        made = [[sys.executable, "-m", "venv", str(folder)],
                [str(python), "-m", "pip", "install", "--quiet", "--upgrade", "pip", "wheel", "setuptools<81"],
                [str(python), "-m", "pip", "install", "--quiet", *requirements]]
        for command in made:
            if subprocess.run(command, check=False).returncode:
                raise NotRun(f"the environment {name} could not be installed")
        done.touch()
    return python


def clean_environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    return kept | {"PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1", "OMP_NUM_THREADS": "1",
                   "OPENBLAS_NUM_THREADS": "1"}


def spark_submit(python: Path, options: Sequence[str], settings: dict[str, str]) -> list[str]:
    find = "import pyspark, os; print(os.path.dirname(pyspark.__file__))"
    home = subprocess.run([str(python), "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    return [f"{home}/bin/spark-submit", *options, *words]


def package_zip(setting: Setting) -> Path:
    archive = setting.scratch / "spectral_spark.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for file in sorted((ROOT / "spectral_spark").rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                target.write(file, file.relative_to(ROOT))
    return archive


def newest(setting: Setting) -> Path:
    return versioned_python(setting, "4.3")


def versioned_python(setting: Setting, spark: str) -> Path:
    constraints = str(ROOT / "constraints" / f"spark-{spark}.txt")
    return environment_of(setting, f"spark-{spark}", ["--constraint", constraints, f"{ROOT}[spark]"])


def local(spark: str) -> Start:
    """Two cores of this machine with a version of Spark."""

    @contextmanager
    def start(setting: Setting) -> Iterator[Started]:
        python = versioned_python(setting, spark)
        command = spark_submit(python, ["--master", "local[2]"], QUIET | {"spark.pyspark.python": str(python)})
        yield Started([*command, str(WORKER)], clean_environment(), str(setting.scratch / "out"))

    return start


@contextmanager
def standalone(setting: Setting) -> Iterator[Started]:
    """A master and two workers."""
    from tests.cluster.standalone import StandaloneCluster

    python, folder = newest(setting), setting.scratch / "standalone"
    folder.mkdir()
    cluster = StandaloneCluster(folder, memory="2g").start()
    try:
        settings = QUIET | ON_EXECUTORS | {"spark.pyspark.python": str(python), "spark.executor.memory": "1g"}
        options = ["--master", cluster.url, "--py-files", str(package_zip(setting))]
        command = spark_submit(python, options, settings | {"spark.driver.host": "127.0.0.1"})
        yield Started([*command, str(WORKER)], clean_environment(), str(setting.scratch / "out"))
    finally:
        cluster.stop()


def yarn(mode: str) -> Start:
    """HDFS and two NodeManagers; the driver here ("client") or in a container ("cluster"), Python in an archive."""

    @contextmanager
    def start(setting: Setting) -> Iterator[Started]:
        from tests.platforms.hadoop_cluster import HadoopCluster
        from tests.platforms.yarn_submit import packed_environment, yarn_settings

        python, folder = newest(setting), setting.scratch / "hadoop"
        folder.mkdir()
        archive = _or_not_run(lambda: packed_environment(setting.cache))
        cluster = HadoopCluster(folder, jars(setting, "hadoop"), memory=4096).start()
        try:
            options = ["--master", "yarn", "--deploy-mode", mode, "--archives", f"{archive}#env",
                       "--py-files", str(package_zip(setting))]
            own = {"spark.pyspark.driver.python": str(python)} if mode == "client" else {}
            settings = QUIET | ON_EXECUTORS | yarn_settings(mode) | own | {
                "spark.driver.memory": "1g", "spark.pyspark.python": "./env/bin/python"}
            environment = clean_environment() | {"HADOOP_CONF_DIR": str(cluster.configuration)}
            del environment["PYTHONPATH"]
            yield Started([*spark_submit(python, options, settings), str(WORKER)], environment, f"{cluster.files}/out")
        finally:
            cluster.stop()

    return start


@contextmanager
def s3a(setting: Setting) -> Iterator[Started]:
    """Corpus, checkpoints and model in a bucket of moto's server."""
    from tests.platforms.store import s3a_settings, started_store

    python = newest(setting)
    try:
        import moto  # noqa: F401
    except ImportError:
        raise NotRun("moto is not installed: pip install 'spectral-spark[platforms]'") from None
    with started_store() as store:
        settings = QUIET | s3a_settings(store) | {"spark.pyspark.python": str(python)}
        options = ["--master", "local[2]", "--jars", ",".join(jars(setting, "s3a"))]
        yield Started([*spark_submit(python, options, settings), str(WORKER)], clean_environment(), "s3a://data/out")


@contextmanager
def connect(setting: Setting) -> Iterator[Started]:
    """A Connect server, and a client with ``pyspark-client`` alone."""
    try:
        from tests.platforms.connect_server import connect_server
    except ImportError:
        raise NotRun("this revision has no helper that starts a Connect server") from None
    python = environment_of(setting, "connect", ["pyspark-client>=4.0,<4.4", *_without_spark()])
    folder = setting.scratch / "connect"
    folder.mkdir()
    with connect_server(folder, ROOT) as address:
        environment = clean_environment() | {"SPARK_REMOTE": f"sc://{address}"}
        yield Started([str(python), str(WORKER)], environment, str(setting.scratch / "out"))


PLATFORMS = {
    **{f"spark-{spark}": Platform(f"Spark {spark}, local", local(spark)) for spark in ("4.3", "4.1", "4.0", "3.5")},
    "standalone": Platform("standalone cluster", standalone),
    "yarn-client": Platform("YARN, client mode, HDFS", yarn("client")),
    "yarn-cluster": Platform("YARN, cluster mode, HDFS", yarn("cluster")),
    "s3a": Platform("S3A", s3a),
    "connect": Platform("Connect, `pyspark-client`", connect),
}


def jars(setting: Setting, name: str) -> list[str]:
    from tests.platforms.store import maven_jars

    return _or_not_run(lambda: maven_jars(ROOT / "tests" / "platforms" / f"{name}.pom.xml", setting.cache / "jars"))


def _or_not_run(make: Callable[[], Any]) -> Any:
    """The tests' helpers skip where something is missing."""
    from _pytest.outcomes import Skipped

    try:
        return make()
    except Skipped as skipped:
        raise NotRun(str(skipped.msg)) from None


def _without_spark() -> list[str]:
    lines = (ROOT / "docker" / "requirements.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith(("#", "pyspark", "py4j"))]

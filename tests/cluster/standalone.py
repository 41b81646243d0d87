"""A real Spark standalone cluster as processes on loopback, from the installed pyspark, and spark-submit to it."""

import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from spectral_spark.engine.java import use_java

REPOSITORY = Path(__file__).parents[2]
START_SECONDS = 180
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"     # processes of seconds: what optimising would cost never pays
_ANYWHERE = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
SUBMIT_SECONDS = 600


class StandaloneCluster:
    """One master and some workers, each a JVM of its own. Ports are chosen by the system and read from the logs."""

    def __init__(self, scratch: Path, workers: int = 2, cores: int = 1, memory: str = "1g") -> None:
        self.scratch, self._cores, self._memory = scratch, cores, memory
        self._count = workers
        self._sinks: list[IO[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.master: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self) -> "StandaloneCluster":
        try:
            self.master = self._daemon("master", "master.Master", *_ANYWHERE)
            log = self.scratch / "master.log"
            self.url = _wait(self.master, log, r"spark://127\.0\.0\.1:\d+")
            for number in range(self._count):
                self.add_worker(number)
            _wait(self.master, log, r"Registering worker", times=self._count)
        except BaseException:
            self.stop()
            raise
        return self

    def add_worker(self, number: int) -> None:
        directory = self.scratch / f"work-{number}"
        self.workers.append(self._daemon(
            f"worker-{number}", "worker.Worker", *_ANYWHERE, "--cores", str(self._cores), "--memory", self._memory,
            "--work-dir", str(directory), self.url,
        ))

    @contextmanager
    def history(self, events: Path) -> Iterator[str]:
        """A history server over a directory of event logs; gives the address of its page."""
        options = f"-Dspark.history.fs.logDirectory=file:{events} -Dspark.history.ui.port=0"
        process = self._daemon("history", "history.HistoryServer", more={"SPARK_HISTORY_OPTS": options})
        try:
            log = self.scratch / "history.log"
            _wait(process, log, r"Finished parsing")
            yield _wait(process, log, r"http://[\w.]+:\d+")
        finally:
            _end([process])

    def stop(self) -> None:
        _end([*self.workers, *filter(None, [self.master])])
        for sink in self._sinks:
            sink.close()
        self.workers, self.master = [], None

    def _daemon(
        self, name: str, role: str, *arguments: str, more: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        command = [spark_script("spark-class"), f"org.apache.spark.deploy.{role}", *arguments]
        environment = os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
            "SPARK_LOCAL_DIRS": str(self.scratch / "local"), **(more or {}),
        }
        sink = (self.scratch / f"{name}.log").open("wb")
        self._sinks.append(sink)
        return subprocess.Popen(
            command, stdout=sink, stderr=subprocess.STDOUT, env=environment, stdin=subprocess.DEVNULL, cwd=self.scratch
        )


def _end(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", log: Path, pattern: str, times: int = 1) -> str:
    """Wait until a log has the pattern so many times, and return the first match."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        matches = re.findall(pattern, log.read_text(errors="replace"))
        if len(matches) >= times:
            return str(matches[0])
        time.sleep(0.1)
    raise RuntimeError(f"the cluster did not start in {START_SECONDS} s:\n{log.read_text(errors='replace')[-3000:]}")


def spark_script(name: str) -> str:
    """``spark-submit`` or ``spark-class`` of the installed pyspark, with a Java that they find in ``JAVA_HOME``."""
    import pyspark

    use_java()
    return str(Path(pyspark.__file__).parent / "bin" / name)


def package_archive(directory: Path) -> Path:
    """The package as a zip for ``--py-files``."""
    archive = directory / "spectral_spark.zip"
    if not archive.exists():
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
            for file in sorted((REPOSITORY / "spectral_spark").rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    target.write(file, file.relative_to(REPOSITORY))
    return archive


def fresh_environment() -> dict[str, str]:
    """The environment without what this process's own Spark session has set, for a process that starts another."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK_", "SPARK_"))}
    return kept | {"SPARK_SUBMIT_OPTS": QUICK_JVM}


def submit(
    master: str,
    script: str | Path,
    arguments: Sequence[str],
    *,
    py_files: Path | None = None,
    conf: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    cwd: Path | None = None,
    log_config: Path | None = None,
    timeout: float = SUBMIT_SECONDS,
) -> "subprocess.CompletedProcess[str]":
    """Run ``spark-submit`` and return what it said."""
    settings = {
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.driver.memory": "1g", "spark.executor.memory": "1g", "spark.sql.shuffle.partitions": "4",
        "spark.spectral.driverEntries": "0",                # what a cluster is tested for runs on its executors
        "spark.pyspark.python": sys.executable, "spark.executor.extraJavaOptions": QUICK_JVM,
    } | dict(conf or {})
    command = [spark_script("spark-submit"), "--master", master]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    command += options
    if log_config is not None:
        command += ["--driver-java-options", f"-Dlog4j2.configurationFile=file:{log_config}"]
    if py_files is not None:
        command += ["--py-files", str(py_files)]
    return subprocess.run(
        [*command, str(script), *map(str, arguments)], capture_output=True, text=True, check=False, timeout=timeout,
        cwd=cwd, env=fresh_environment() | {"SPARK_LOCAL_IP": "127.0.0.1"}, stdin=subprocess.DEVNULL,
    )

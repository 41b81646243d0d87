"""Starts Spark with the right Python and Java, one BLAS thread per worker, and its log away from the terminal."""

import atexit
import importlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING

import psutil

from spectral_spark.engine.java import use_java
from spectral_spark.errors import INSTALL_SPARK, SettingsError, SparkMissingError

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
OLDEST_SPARK = "3.5"
_GIB = 1 << 30


def start_session(
    name: str,
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    fallbacks: Mapping[str, str] | None = None,
    log: str | os.PathLike[str] | None = None,
) -> "SparkSession":
    """The Spark session of a job: the one spark-submit has prepared, or a new one.

    ``settings`` take precedence over the arguments of spark-submit, these over ``spark-defaults.conf``, this over
    ``fallbacks``, and these over the defaults of this module.

    Parameters
    ----------
    name : application name, shown in the Spark UI.
    master : cluster to run on; None for spark-submit's, or all cores of this machine.
    settings, fallbacks : further ``spark.*`` settings; fallbacks apply only if a setting is given nowhere else.
    log : file for what Spark and its workers write; None leaves it on standard error.
    """
    prepare_environment()
    submitted = started_by_spark_submit()
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if submitted:
        SparkContext._ensure_initialized()                 # makes the submitted settings visible in SparkConf
    conf = SparkConf().setAppName(name)
    for key, value in (settings or {}).items():
        conf.set(key, value)
    if master:
        conf.setMaster(master)
    said = set() if submitted else set(spark_defaults())
    for key, value in ({"spark.master": "local[*]"} | dict(fallbacks or {})).items():
        _set_unless_said(conf, key, value, said)
    check_master(conf.get("spark.master") or "")
    for key, value in _defaults(conf.get("spark.master") or "").items():
        _set_unless_said(conf, key, value, said)
    if not submitted and SparkContext._gateway is None:
        SparkContext._ensure_initialized(gateway=launch_gateway(conf, _quiet(log)), conf=conf)
    return SparkSession.builder.config(conf=conf).getOrCreate()


def started_by_spark_submit() -> bool:
    """Whether spark-submit started this process and its JVM is waiting with the settings."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def prepare_environment() -> None:
    """Prepare the environment for Spark: the locale, the workers' Python, BLAS threads, Java, and pyspark."""
    for variable in BLAS_THREADS:
        os.environ.setdefault(variable, "1")
    _use_unicode_file_names()
    find_pyspark()
    check_spark_version(importlib.import_module("pyspark").__version__)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not started_by_spark_submit():
        use_java()


def _use_unicode_file_names() -> None:
    """In the C locale Java reads and writes file names as ASCII, with question marks; Python does not."""
    locale = next(filter(None, (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))), "C")
    if locale in ("C", "POSIX"):
        os.environ["LC_ALL"] = "C.UTF-8"


def check_file_names(session: "SparkSession", paths: Iterable[str]) -> None:
    """Refuse paths that the JVM of the session would take for others, before anything is written."""
    encoding = session._jvm.java.lang.System.getProperty("sun.jnu.encoding") or ""   # type: ignore[union-attr]
    foreign = next((path for path in paths if not path.isascii()), None)
    if foreign is not None and "utf" not in encoding.lower():
        raise SettingsError(f"Spark's Java takes file names for {encoding} and would not find '{foreign}'; start it "
                            "with LC_ALL=C.UTF-8 in its environment, or give a path in ASCII")


def find_pyspark() -> None:
    """Make ``pyspark`` importable; findspark finds a Spark that was unpacked but not installed with pip."""
    if find_spec("pyspark") is None:
        if not os.environ.get("SPARK_HOME") or find_spec("findspark") is None:
            raise SparkMissingError(f"this needs Spark, and pyspark cannot be imported: {INSTALL_SPARK}")
        importlib.import_module("findspark").init()


def check_spark_version(version: str) -> None:
    """Refuse a Spark that is older than the oldest one that the tests run on."""
    if [int(part) for part in re.findall(r"\d+", version)[:2]] < [int(part) for part in OLDEST_SPARK.split(".")]:
        raise SettingsError(f"this is Spark {version}, and spectral_spark needs {OLDEST_SPARK} or newer: run it on "
                            "a newer cluster, or install a newer Spark with pip install 'spectral-spark[spark]'")


def check_master(master: str) -> None:
    """Refuse a cluster that Spark cannot find, before its JVM ends without a word that people see."""
    if master.startswith("yarn") and not any(os.environ.get(f"{name}_CONF_DIR") for name in ("HADOOP", "YARN")):
        raise SettingsError("to run on YARN, set HADOOP_CONF_DIR to the directory with the cluster's core-site.xml and "
                            "yarn-site.xml")


def new_log() -> Path:
    """A fresh file for Spark's own messages, in the directory for temporary files."""
    handle, path = tempfile.mkstemp(prefix="spectral-spark-", suffix=".log")
    os.close(handle)
    return Path(path)


def spark_defaults() -> dict[str, str]:
    """The settings in the ``spark-defaults.conf`` that Spark will read."""
    directory = os.environ.get("SPARK_CONF_DIR") or os.path.join(os.environ.get("SPARK_HOME") or "", "conf")
    try:
        lines = Path(directory, "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = (re.split(r"\s*[\s=:]\s*", line.strip(), maxsplit=1) for line in lines)
    return {pair[0]: pair[-1] if len(pair) > 1 else "" for pair in pairs if pair[0].startswith("spark.")}


def spark_setting(name: str, settings: Mapping[str, str], fallbacks: Mapping[str, str]) -> str | None:
    """The value that a setting will have in a session of :func:`start_session`; None if it is not set anywhere."""
    if name in settings:
        return settings[name]
    if started_by_spark_submit():
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()
        submitted = SparkConf().get(name)
        return fallbacks.get(name) if submitted is None else submitted
    return spark_defaults().get(name, fallbacks.get(name))


def _set_unless_said(conf: "SparkConf", key: str, value: str, said: Set[str]) -> None:
    if key not in said and not conf.contains(key):
        conf.set(key, value)


def _quiet(log: str | os.PathLike[str] | None) -> dict[str, IO[bytes]]:
    if log is None:
        return {}
    sink = open(log, "ab")                                  # noqa: SIM115  (lives as long as the JVM)
    atexit.register(sink.close)
    return {"stdout": sink, "stderr": sink}


def _defaults(master: str) -> dict[str, str]:
    """Defaults of this package for settings that the user has not given, each with its reason."""
    defaults = {
        "spark.ui.showConsoleProgress": "false",            # we write our own progress
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.adaptive.enabled": "true",
    }
    for variable in BLAS_THREADS:                           # Spark already runs one Python worker per core
        defaults[f"spark.executorEnv.{variable}"] = "1"
    if master.startswith("local"):
        defaults |= {
            "spark.driver.memory": local_memory(),          # the driver is the only JVM
            "spark.driver.host": "127.0.0.1",               # laptops whose host name does not resolve
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",                    # no port taken; a cluster has its history server
            "spark.sql.shuffle.partitions": str(max(2 * (os.cpu_count() or 2), 4)),
        }
    return defaults


def local_memory() -> str:
    """Heap for a local run: a quarter of the machine, between 1 and 8 GiB; Python workers need the rest."""
    return f"{min(max(psutil.virtual_memory().total // 4 // _GIB, 1), 8)}g"


@contextmanager
def quiet_query_errors() -> Iterator[None]:
    """Keep pyspark from logging wrong queries, with the Java stack and values of columns, for the length of the block.

    Spark 4 does so on standard error whenever a condition names a column that is not there, or a cast fails.
    """
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:                                     # Spark 3.5 has no such log
        yield
        return
    loggers = [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was

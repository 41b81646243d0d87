"""Starting Spark: who wins when several places say something, and what a started session looks like."""

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from spectral_spark.engine import session
from spectral_spark.errors import SettingsError
from tests.cluster.standalone import fresh_environment

STARTED = """
import json, os, sys
from spectral_spark.engine.session import start_session
spark = start_session("probe", master="local[2]", log=sys.argv[1],
                      settings={"spark.sql.shuffle.partitions": "3"},
                      fallbacks={"spark.sql.shuffle.partitions": "9", "spark.driver.memory": "600m",
                                 "spark.probe": "file"})
conf = spark.sparkContext.getConf()
def threads(batches):
    import os
    import pyarrow as pa
    blas = os.environ.get("OPENBLAS_NUM_THREADS")
    yield from (pa.RecordBatch.from_pydict({"threads": [blas], "python": [sys.executable]}) for _ in batches)
row = spark.range(1).mapInArrow(threads, "threads string, python string").first()
asked = "spark.sql.shuffle.partitions spark.driver.memory spark.probe spark.from.defaults spark.ui.enabled".split()
print(json.dumps({"threads": row.threads, "python": row.python, "name": spark.sparkContext.appName,
                  **{key: conf.get(key) for key in asked}}))
spark.stop()
"""


def test_a_started_session(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# ours\nspark.from.defaults  yes\nspark.probe=defaults\n")
    log = tmp_path / "spark.log"
    environment = fresh_environment()
    done = subprocess.run(
        [sys.executable, "-c", STARTED, str(log)], capture_output=True, text=True, check=False, timeout=300,
        env=environment | {"SPARK_CONF_DIR": str(tmp_path), "PATH": os.environ["PATH"]}, cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["spark.sql.shuffle.partitions"] == "3"     # what the caller insists on
    assert found["spark.probe"] == "defaults"               # spark-defaults.conf over a fallback
    assert found["spark.driver.memory"] == "600m"           # a fallback over this package's own default
    assert found["spark.from.defaults"] == "yes"
    assert found["spark.ui.enabled"] == "false"
    assert found["threads"] == "1"
    assert found["python"] == sys.executable
    assert found["name"] == "probe"
    assert done.stderr == ""                                # nothing of Spark's on the terminal
    assert log.stat().st_size > 0


@pytest.mark.parametrize(("given", "expected"), [
    ({"LC_ALL": "C"}, "C.UTF-8"), ({"LC_CTYPE": "POSIX"}, "C.UTF-8"), ({}, "C.UTF-8"),
    ({"LC_ALL": "", "LANG": "C"}, "C.UTF-8"),
    ({"LANG": "de_DE.UTF-8"}, None), ({"LC_ALL": "en_GB.ISO-8859-1"}, "en_GB.ISO-8859-1"),
])
def test_the_c_locale_does_not_reach_java(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: str | None
) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    session.prepare_environment()
    assert os.environ.get("LC_ALL") == expected
    monkeypatch.delenv("LC_ALL", raising=False)


def test_file_names_that_java_cannot_write_are_refused() -> None:
    class System:
        encoding = "ANSI_X3.4-1968"

        def getProperty(self, _: str) -> str:
            return self.encoding

    system = System()
    java = types.SimpleNamespace(lang=types.SimpleNamespace(System=system))
    spark: Any = types.SimpleNamespace(_jvm=types.SimpleNamespace(java=java))
    session.check_file_names(spark, ["/data/notes"])
    with pytest.raises(SettingsError, match=r"ANSI_X3.4-1968 and would not find '/data/Küste'; start it with LC_ALL"):
        session.check_file_names(spark, ["/data/notes", "/data/Küste"])
    system.encoding = "UTF-8"
    session.check_file_names(spark, ["/data/Küste"])


def test_local_memory_is_a_share_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for gib, expected in ((2, "1g"), (16, "4g"), (256, "8g")):
        monkeypatch.setattr(session.psutil, "virtual_memory", lambda gib=gib: types.SimpleNamespace(total=gib * 2**30))
        assert session.local_memory() == expected


def test_findspark_is_asked_only_when_pyspark_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    findspark = types.SimpleNamespace(init=lambda: asked.append("findspark"))
    monkeypatch.setattr(session.importlib, "import_module", lambda name: findspark)
    session.find_pyspark()
    assert asked == []
    monkeypatch.setattr(session, "find_spec", lambda name: object() if name == "findspark" else None)
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    session.find_pyspark()
    assert asked == ["findspark"]
    monkeypatch.delenv("SPARK_HOME")
    with pytest.raises(SettingsError, match="pyspark cannot be imported: pip install"):
        session.find_pyspark()


def test_yarn_without_a_configuration_is_refused_before_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingsError, match="set HADOOP_CONF_DIR"):
        session.check_master("yarn")
    session.check_master("local[2]")
    monkeypatch.setenv("YARN_CONF_DIR", "/etc/hadoop")
    session.check_master("yarn")

"""The clusters the other tests rely on are real: separate processes, the package shipped to them."""

import json
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cluster.standalone import StandaloneCluster, submit

PROBE = '''
import json, os, sys
from pyspark.sql import SparkSession

def look(batches):
    import pyarrow as pa
    import spectral_spark
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"pid": [os.getppid()], "home": [spectral_spark.__file__], "rows": [rows]})

spark = SparkSession.builder.getOrCreate()
found = spark.range(1000, numPartitions=4).mapInArrow(look, "pid long, home string, rows long").collect()
with open(sys.argv[1], "w") as sink:
    json.dump({"master": spark.sparkContext.master, "rows": sum(r.rows for r in found),
               "homes": sorted({r.home for r in found}), "processes": len({r.pid for r in found})}, sink)
if "fail" in sys.argv:
    sys.exit(2)
'''


def probe(
    master: str, package_zip: Path, tmp_path: Path, *arguments: str, conf: dict[str, str] | None = None
) -> tuple[int, dict, str]:
    script, answer = tmp_path / "probe.py", tmp_path / "answer.json"
    script.write_text(PROBE)
    done = submit(master, script, [str(answer), *arguments], py_files=package_zip, conf=conf)
    return done.returncode, json.loads(answer.read_text()) if answer.exists() else {}, done.stderr


@pytest.mark.cluster
def test_standalone_cluster_runs_the_shipped_package(
    standalone_cluster: StandaloneCluster, package_zip: Path, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    recorded = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file:{events}"}
    code, answer, errors = probe(standalone_cluster.url, package_zip, tmp_path, conf=recorded)
    assert code == 0, errors
    with standalone_cluster.history(events) as page:
        (application,) = json.load(urlopen(f"{page}/api/v1/applications", timeout=60))
    assert application["name"] == "probe.py"
    assert answer["rows"] == 1000
    assert answer["master"] == standalone_cluster.url
    assert answer["processes"] == 2
    assert all("spectral_spark.zip" in home for home in answer["homes"])


@pytest.mark.cluster
def test_spark_submit_passes_the_exit_code_on(
    standalone_cluster: StandaloneCluster, package_zip: Path, tmp_path: Path
) -> None:
    code, answer, _ = probe(standalone_cluster.url, package_zip, tmp_path, "fail")
    assert answer["rows"] == 1000
    assert code == 2


@pytest.mark.cluster
def test_local_cluster_runs_the_shipped_package(package_zip: Path, tmp_path: Path) -> None:
    code, answer, errors = probe("local-cluster[2,1,1024]", package_zip, tmp_path)
    assert code == 0, errors
    assert answer["processes"] == 2
    assert all("spectral_spark.zip" in home for home in answer["homes"])

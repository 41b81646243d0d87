"""Delta and Iceberg tables in, as of one version; the changes of a Delta table into a model."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.cli.run import main
from spectral_spark.engine.java import use_java
from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo
from spectral_spark.ml.change_feed import apply_changes
from spectral_spark.ml.streaming import newest_model, update_from_stream
from tests.platforms.store import maven_jars

pytestmark = pytest.mark.platforms
HERE = Path(__file__).parent
COLUMNS = ["--text-col", "text", "--path-cols", "region,town", "--id-col", "id", "--min-documents", "3"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session with Delta in its own catalogue, and Iceberg in one of the name ``ice``."""
    pyspark = pytest.importorskip("pyspark")
    if not pyspark.__version__.startswith("4.1"):
        pytest.skip(f"the jars of Delta and Iceberg are those of Spark 4.1, and this is {pyspark.__version__}")
    jars = maven_jars(HERE / "lake.pom.xml", HERE.parents[1] / "build" / "jars")
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    place = tmp_path_factory.mktemp("lake")
    settings = {
        "spark.jars": ",".join(jars), "spark.driver.memory": "2g", "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
                                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(place / "ice"),
        "spark.databricks.delta.properties.defaults.enableChangeDataFeed": "true",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("spectral_spark tables")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.sql("CREATE SCHEMA IF NOT EXISTS mail")
    session.sql("CREATE NAMESPACE IF NOT EXISTS ice.mail")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def notes(lake: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("notes") / "notes.jsonl"
    write_demo(simulate_demo(300), path)
    return path


def corpus(lake: Any, output: Path, *words: str) -> dict[str, Any]:
    assert main(["ingest", "--source", "table", "--output", str(output), *COLUMNS, *words, "--quiet"], lake) == 0
    found: dict[str, Any] = json.loads((output / "corpus.json").read_text())
    return found


def table(lake: Any, notes: Path, rows: slice) -> Any:
    return lake.createDataFrame(pd.read_json(notes, lines=True)[rows])


def test_delta_and_iceberg_tables_by_name_and_by_path_make_the_same_corpus(
    lake: Any, notes: Path, tmp_path: Path
) -> None:
    wanted = corpus(lake, tmp_path / "files", "--input", str(notes))
    first, second = table(lake, notes, slice(0, 200)), table(lake, notes, slice(200, None))
    path = str(tmp_path / "delta")
    first.write.format("delta").save(path)
    second.write.format("delta").mode("append").save(path)
    first.write.format("delta").saveAsTable("mail.notes")
    second.write.format("delta").mode("append").saveAsTable("mail.notes")
    first.writeTo("ice.mail.notes").create()
    old = lake.table("ice.mail.notes.refs").first()["snapshot_id"]
    second.writeTo("ice.mail.notes").append()
    inputs = {
        "path": ["--input", path], "format": ["--input", path, "--format", "delta"],
        "name": ["--input", "spark_catalog.mail.notes"], "short": ["--input", "mail.notes"],
        "ice": ["--input", "ice.mail.notes"],
        "ice path": ["--input", lake.conf.get("spark.sql.catalog.ice.warehouse") + "/mail/notes"],
    }
    for name, words in inputs.items():
        found = corpus(lake, tmp_path / name, *words)
        assert found["fingerprint"] == wanted["fingerprint"], name
        assert found["notes"]["format"] == ("iceberg" if "ice" in name else "delta")
        assert found["notes"]["table_version"] == (1 if "ice" not in name else found["notes"]["table_version"])
    for name, version in (("path", "0"), ("name", "0"), ("ice", str(old)), ("ice path", str(old))):
        found = corpus(lake, tmp_path / f"old {name}", *inputs[name], "--table-version", version)
        assert (found["read"], found["notes"]["table_version"]) == (200, int(version)), name


def test_a_table_that_cannot_be_read_is_said_in_one_sentence(lake: Any, tmp_path: Path, capsys: Any) -> None:
    lake.range(3).write.format("delta").save(str(tmp_path / "delta"))
    lake.range(3).write.saveAsTable("mail.plain", format="parquet")
    for words, said in (
        (["--input", "mail.nothing"], "there is no table 'mail.nothing'"),
        (["--input", "nowhere.mail.notes"], "there is no table"),
        (["--input", str(tmp_path / "delta")], "has no column 'text'; it has id"),
        (["--input", str(tmp_path / "delta"), "--table-version", "9"], "has no version 9"),
        (["--input", "mail.plain", "--table-version", "1"], "has no versions"),
    ):
        command = ["ingest", "--source", "table", "--output", str(tmp_path / "no"), *COLUMNS, *words, "--quiet"]
        code = main(command, lake)
        error = capsys.readouterr().err
        assert (code, said in error) == (2, True), error
        assert len(error.strip().splitlines()) <= 2
        assert not (tmp_path / "no").exists()


def test_a_model_follows_the_changes_of_a_table(lake: Any, notes: Path, tmp_path: Path) -> None:
    table(lake, notes, slice(0, 220)).write.format("delta").saveAsTable("mail.changing")
    corpus(lake, tmp_path / "corpus", "--input", "mail.changing")
    model = str(tmp_path / "model")
    assert main(["fit", "--corpus", str(tmp_path / "corpus"), "--model", model, "--k", "4", "--quiet"], lake) == 0
    table(lake, notes, slice(220, 260)).write.format("delta").mode("append").saveAsTable("mail.changing")
    ids = [str(row["id"]) for row in lake.table("mail.changing").orderBy("id").limit(9).collect()]
    lake.sql(f"DELETE FROM mail.changing WHERE id IN ('{ids[0]}', '{ids[1]}')")
    lake.sql(f"UPDATE mail.changing SET text = concat(text, ' harbour harbour ferry') WHERE id = '{ids[2]}'")
    lake.sql(f"UPDATE mail.changing SET town = 'Newtown' WHERE id = '{ids[3]}'")
    lake.sql(f"UPDATE mail.changing SET text = concat(text, ' summit') WHERE id = '{ids[2]}'")      # once more
    for words in (["--output", str(tmp_path / "one")], ["--output", str(tmp_path / "two"), "--table-version", "3"]):
        assert main(["update", "--changes", "mail.changing", "--model", model, *words, "--quiet"], lake) == 0
    rest = ["update", "--changes", "mail.changing", "--model", str(tmp_path / "two"), "--output", str(tmp_path / "all")]
    assert main([*rest, "--quiet"], lake) == 0
    again = ["--model", str(tmp_path / "all"), "--since-version", "0", "--output", str(tmp_path / "again"), "--quiet"]
    assert main(["update", "--changes", "mail.changing", *again], lake) == 0           # after a crash, say
    wanted = corpus(lake, tmp_path / "now", "--input", "mail.changing", "--vocabulary", model)
    refitted = SpectralHDP(termsCol="terms", countsCol="counts", idCol="doc_id", k=4, vocabSize=wanted["terms"])
    now = lake.read.parquet(str(tmp_path / "now" / "documents"))
    expected = refitted.setBasis(SpectralHDPModel.load(model).basis).fit(now)
    for name in ("one", "all", "again"):
        found = SpectralHDPModel.load(str(tmp_path / name))
        assert found.summary.documents == wanted["documents"]["train"] == 258
        assert found.summary.extra["corpus"]["table"]["version"] == 5
        known, theirs = found._fitted.known, expected._fitted.known
        np.testing.assert_array_equal(known.keys, theirs.keys)
        np.testing.assert_array_equal(known.contents, theirs.contents)
        sums = [model.moments.node_first.sum(axis=0) for model in (found, expected)]
        np.testing.assert_allclose(sums[0], sums[1], rtol=1e-9)         # added in another order


def test_a_stream_of_changes_ends_as_the_table_does(lake: Any, notes: Path, tmp_path: Path) -> None:
    table(lake, notes, slice(0, 200)).write.format("delta").saveAsTable("mail.streamed")
    hdp = SpectralHDP(k=3, textCol="text", idCol="id", minDocuments=3, refinePasses=0)

    def run() -> Any:
        stream = lake.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", "0")
        changes, absorb = stream.table("mail.streamed"), update_from_stream(str(tmp_path / "store"), hdp)
        writer = changes.writeStream.foreachBatch(absorb).option("checkpointLocation", str(tmp_path / "at"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return newest_model(str(tmp_path / "store"))

    assert run().summary.documents == 200
    ids = [str(row["id"]) for row in lake.table("mail.streamed").orderBy("id").limit(2).collect()]
    lake.sql(f"DELETE FROM mail.streamed WHERE id = '{ids[0]}'")
    lake.sql(f"UPDATE mail.streamed SET text = concat(text, ' harbour') WHERE id = '{ids[1]}'")
    model = run()
    assert model.summary.documents == 199
    feed = lake.read.option("readChangeFeed", "true").option("startingVersion", "1").table("mail.streamed")
    assert apply_changes(model, feed).summary.documents == 199          # known already: nothing happens twice

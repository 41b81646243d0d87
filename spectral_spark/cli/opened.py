"""A model and documents in its vocabulary, for the verbs that ask a model about documents."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spectral_spark.ml.hdp import SpectralHDPModel


def opened(spark: "SparkSession", corpus_path: str, model_path: str) -> tuple["SpectralHDPModel", "DataFrame"]:
    """The model, and the documents of the corpus in the model's vocabulary."""
    from spectral_spark import SpectralHDPModel
    from spectral_spark.ingest.corpus_store import open_corpus
    from spectral_spark.ingest.translate import in_vocabulary

    corpus = open_corpus(spark, corpus_path)
    model = SpectralHDPModel.load(model_path)
    columns = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id"}
    model = model.copy({model.getParam(name): value for name, value in columns.items()})
    return model, in_vocabulary(corpus.documents(), corpus.vocabulary, model.words)


def wanted_topics(model: "SpectralHDPModel", asked: Iterable[str] | None) -> set[int]:
    """The topics that were asked for by number or label; all of them if none was."""
    from spectral_spark.report.topic_names import find_topics

    return set(find_topics(tuple(asked or ()), model.files)) or set(range(model.k))


def with_metadata(documents: "DataFrame", table: str, key: str) -> "DataFrame":
    """The documents with the columns of a table (Parquet, JSON lines or CSV) that has their ids in column ``key``."""
    from pyspark.sql import functions as F

    from spectral_spark.data.value_types import nearest
    from spectral_spark.errors import InputError
    from spectral_spark.files.spark_paths import spark_readable
    from spectral_spark.ingest.readers.source import readable_input

    reader, place = documents.sparkSession.read, spark_readable(table)
    with readable_input(table):
        if table.rstrip("/").endswith((".csv", ".csv.gz")):
            rows = reader.options(header=True, inferSchema=True, escape='"', multiLine=True).csv(place)
        elif table.rstrip("/").endswith((".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz")):
            rows = reader.json(place)
        else:
            rows = reader.parquet(place)
    if key not in rows.columns:
        raise InputError(f"'{table}' has no column '{key}' of document ids"
                         f"{nearest(key, rows.columns) or '; name it with --id-col'}")
    others = [name for name in rows.columns if name != key and name not in documents.columns]
    named = [F.col("`" + name.replace("`", "``") + "`") for name in others]
    ids = F.col("`" + key.replace("`", "``") + "`").cast("string").alias("doc_id")
    return documents.join(rows.select(ids, *named).dropDuplicates(["doc_id"]), "doc_id", "left")

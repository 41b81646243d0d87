"""A model and documents in its vocabulary, for the verbs that ask a model about documents."""

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spectral_spark.ml.hdp import SpectralHDPModel

CORPUS_PARAMETERS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id"}


def opened(
    spark: "SparkSession", corpus_path: str, model_path: str, *, kept: bool = False
) -> tuple["SpectralHDPModel", "DataFrame"]:
    """The model, and the documents of the corpus in the model's vocabulary; ``kept``: with the columns it carries."""
    from spectral_spark import SpectralHDPModel

    return on_corpus(spark, corpus_path, SpectralHDPModel.load(model_path), kept=kept)


def on_corpus(
    spark: "SparkSession", corpus_path: str, model: "SpectralHDPModel", *, kept: bool = False
) -> tuple["SpectralHDPModel", "DataFrame"]:
    """A copy of the model that reads the columns of a corpus, and the documents of that in the model's vocabulary."""
    from spectral_spark.ingest.corpus_store import open_corpus
    from spectral_spark.ingest.translate import in_vocabulary

    corpus = open_corpus(spark, corpus_path)
    reading = model.copy({model.getParam(name): value for name, value in CORPUS_PARAMETERS.items()})
    return reading, in_vocabulary(corpus.documents(kept=kept), corpus.vocabulary, model.words)


def with_columns_of(before: "SpectralHDPModel", model: "SpectralHDPModel", names: Iterable[str]) -> "SpectralHDPModel":
    """The model with these parameters as another one has them, so that columns which were read once are not saved."""
    for name in names:
        if before.isSet(name):
            model.set(model.getParam(name), before.getOrDefault(name))
        else:
            model.clear(model.getParam(name))
    return model


def wanted_topics(model: "SpectralHDPModel", asked: Iterable[str] | None) -> set[int]:
    """The topics that were asked for by number or label; all of them if none was."""
    from spectral_spark.report.topic_names import find_topics

    return set(find_topics(tuple(asked or ()), model.files)) or set(range(model.k))


def selected(documents: "DataFrame", selection: str, kept: Mapping[str, str]) -> "DataFrame | None":
    """The documents with a value in a column that the corpus carries, ``month=2001-03``; None for other texts."""
    from pyspark.sql import functions as F

    column, equals, value = selection.partition("=")
    if not equals or column not in kept:
        return None
    return documents.filter(F.col("`" + column.replace("`", "``") + "`").cast("string") == value)


def check_side(flag: str, text: str, kept: Mapping[str, str], paths: Sequence[tuple[str, ...]]) -> None:
    """Refuse what looks like COLUMN=VALUE, where the corpus carries no such column and the tree has no such node."""
    from spectral_spark.data.value_types import nearest
    from spectral_spark.errors import InputError
    from spectral_spark.tree.node_names import find_node

    column, equals, _ = text.partition("=")
    if not equals or column in kept:
        return
    try:
        find_node(text, paths)
    except InputError as error:
        has = f"it carries {', '.join(kept)}{nearest(column, kept)}" if kept else \
            "it carries none: ingest --keep-cols does that"
        raise InputError(f"{flag}: the corpus has no column '{column}'; {has}; and {error}") from None


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


def selections(
    documents: "DataFrame", manifest: Mapping[str, Any], settings: Namespace
) -> tuple["DataFrame", "DataFrame"]:
    """The documents of --where-a, and those of --where-b or all others; documents of neither are left out."""
    from pyspark.sql import functions as F

    made = manifest["settings"]
    table = settings.metadata or (made["input"] if made.get("source") == "table" and made.get("id_col") else None)
    if table is not None:
        documents = with_metadata(documents, table, settings.id_col or made.get("id_col") or "doc_id")
    first = _condition(documents, settings.where_a, "--where-a")
    if settings.where_b:
        return first, _condition(documents, settings.where_b, "--where-b")
    return first, documents.filter(~F.coalesce(F.expr(settings.where_a), F.lit(False)))


def _condition(documents: "DataFrame", condition: str, flag: str) -> "DataFrame":
    """The documents for which a condition holds; a wrong name is answered with the nearest column."""
    from pyspark.errors import AnalysisException, ParseException

    from spectral_spark.data.value_types import nearest
    from spectral_spark.errors import InputError

    try:
        found = documents.filter(condition)
        _ = found.schema
        return found
    except ParseException:
        raise InputError(f"{flag} is '{condition}', which is not a condition in SQL; write, for example, "
                         "\"month >= '2001-03'\"") from None
    except AnalysisException as error:
        wrong = (error.getMessageParameters() or {}).get("objectName", "").strip("`")
        if not wrong:
            raise InputError(f"{flag} is '{condition}', which Spark cannot work out on these columns: "
                             f"{', '.join(documents.columns)}") from None
        hint = nearest(wrong, documents.columns) or f"; the columns are {', '.join(documents.columns)}"
        raise InputError(f"{flag}: there is no column '{wrong}'{hint}") from None

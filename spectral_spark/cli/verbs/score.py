"""``spectral-spark score``: the topics of documents."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import corpus_manifest, model_summary, output_is_free, topics_memory
from spectral_spark.cli.flags import Flag
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.errors import SettingsError
from spectral_spark.files.formats import SCORES_KIND, SCORES_VERSION
from spectral_spark.ingest.corpus_manifest import kept_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spectral_spark.cli.run import CommandRun
    from spectral_spark.ml.hdp import SpectralHDPModel

SPLITS = ("all", "train", "test")
COLUMNS = ("doc_id", "path", "topic", "label", "words", "unknownShare", "topicDistribution")
WORDS_IN_LABEL = 5
MUCH_UNKNOWN = 0.5           # of all words: beyond this the scores are mostly the prior


def plan(settings: Namespace) -> list[str]:
    manifest = corpus_manifest(settings.corpus)
    summary = model_summary(settings.model)
    carried = _carried(settings, manifest)
    beside = f"beside {', '.join(carried)} " if carried else ""
    output_is_free(
        settings.output, settings.overwrite, kind=SCORES_KIND,
        inputs={"--corpus": settings.corpus, "--model": settings.model},
    )
    return [
        f"infer the shares of {summary['k']} topics in {number(_documents(manifest, settings))} documents "
        f"of '{settings.corpus}'",
        f"write each document's topics, the largest with its label, and the share of unknown words "
        f"{beside}as Parquet to "
        f"'{settings.output}'",
        topics_memory(summary),
    ]


def _carried(settings: Namespace, manifest: dict[str, Any]) -> dict[str, str]:
    """The columns to pass on; refuses names that the scores have themselves."""
    carried = kept_types(manifest) if settings.kept else {}
    if settings.kept and not carried:
        raise SettingsError(f"'{settings.corpus}' carries no columns to pass on; ingest --keep-cols carries them")
    clash = next((name for name in carried if name.lower() in {column.lower() for column in COLUMNS}), None)
    if clash is not None:
        raise SettingsError(f"the scores have a column '{clash}' of their own; leave out --kept")
    return carried


def _documents(manifest: dict[str, Any], settings: Namespace) -> int:
    split = settings.split or "all"
    return int(manifest["kept"] if split == "all" else manifest["documents"].get(split, 0))


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark import SpectralHDPModel
    from spectral_spark.engine.arrow import write_parquet
    from spectral_spark.files.locking import only_writer
    from spectral_spark.files.model_files import read_model_files
    from spectral_spark.ingest.corpus_store import open_corpus
    from spectral_spark.report.topic_names import topic_names

    spark = run.spark
    with only_writer(settings.output), run.terminal.doing("scoring"):
        corpus = open_corpus(spark, settings.corpus)
        model = SpectralHDPModel.load(settings.model)
        split = None if settings.split in (None, "all") else settings.split
        documents = corpus.documents(split, kept=bool(settings.kept))
        labels = topic_names(read_model_files(settings.model), WORDS_IN_LABEL)
        scored = scores(model, documents, corpus.vocabulary, labels, tuple(_carried(settings, corpus.manifest)))
        written = write_parquet(
            scored, settings.output, SCORES_KIND, SCORES_VERSION, overwrite=settings.overwrite
        )
        unknown = unknown_share(spark, settings.output, corpus.manifest)
    run.terminal.say(*summary_lines(settings, written, unknown, run.seconds))


def scores(
    model: "SpectralHDPModel", documents: "DataFrame", vocabulary: tuple[str, ...], labels: list[str],
    kept: tuple[str, ...] = (),
) -> "DataFrame":
    """One row per document: its topics, the largest of them, and how much of the document the model knows.

    ``kept`` are further columns of the documents to pass on.
    """
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as F

    from spectral_spark.ingest.translate import UNSEEN, translated

    same = model.words is None or model.words == vocabulary
    frame = documents.withColumn(UNSEEN, F.lit(0.0)) if same else translated(documents, vocabulary, model.words or ())
    known = F.aggregate("counts", F.lit(0).cast("double"), lambda total, count: total + count)
    words = known + F.col(UNSEEN)
    shares = vector_to_array(F.col("topicDistribution"))
    # in SQL, because the function of Spark 3.5 takes no column as its second argument
    largest = F.expr("cast(array_position(topicDistribution, array_max(topicDistribution)) - 1 as int)")
    names = F.array(*(F.lit(label) for label in labels))
    passed_on = [F.col("`" + name.replace("`", "``") + "`") for name in kept]
    return (
        model.transform(frame)
        .select("doc_id", "path", shares.alias("topicDistribution"), words.cast("long").alias("words"),
                F.when(words > 0, F.col(UNSEEN) / words).otherwise(0.0).alias("unknownShare"), *passed_on)
        .withColumn("topic", largest)
        .withColumn("label", F.element_at(names, F.col("topic") + 1))
        .select(*COLUMNS, *passed_on)
    )


def unknown_share(spark: "SparkSession", output: str, manifest: dict[str, Any]) -> float:
    """Share of all words of the documents that the model does not know, those that ingest left out included."""
    from pyspark.sql import functions as F

    from spectral_spark.files.spark_paths import spark_readable

    unknown = F.sum(F.col("words") * F.col("unknownShare"))
    rows = spark.read.parquet(spark_readable(output))
    totals = rows.agg(unknown.alias("unknown"), F.sum("words").alias("all")).first()
    words, missing = (float(totals["all"] or 0), float(totals["unknown"] or 0)) if totals else (0.0, 0.0)
    left_out = float((manifest.get("unseen") or {}).get("tokens", 0))
    return (missing + left_out) / max(words + left_out, 1.0)


def summary_lines(settings: Namespace, documents: int, unknown: float, seconds: float) -> list[str]:
    """What scoring tells at its end."""
    lines = [
        f"scores {settings.output}: {number(documents)} documents in {duration(seconds)}; "
        f"the model knows {1 - unknown:.1%} of their words"
    ]
    if unknown > MUCH_UNKNOWN:
        lines.append(
            f"  warning: {unknown:.0%} of the words are unknown to '{settings.model}', so these topics say little "
            "about the documents; score them with a model that was fitted to documents of this kind"
        )
    return lines


VERB = Verb(
    name="score",
    summary="infer the topics of every document",
    description=(
        "Infer each document's topic shares with a fitted model, given its place in the tree, and write Parquet with\n"
        "one row per document: doc_id string, path array<string>, topic int (the largest), label string (its name,\n"
        "or its first distinctive words), words long, unknownShare double (share of the words that the model does not\n"
        "know), and topicDistribution array<double>."
    ),
    example="spectral-spark score --corpus out/corpus --model out/model --output out/scores",
    flags=(
        Flag("corpus", "the documents, a corpus as ingest makes it", metavar="CORPUS", required=True),
        Flag("model", "a fitted model", metavar="MODEL", required=True),
        Flag("output", "directory of Parquet files to make", metavar="DIR", required=True),
        Flag("split", "which documents (default all)", choices=SPLITS),
        Flag("kept", "also write the columns that ingest --keep-cols carried into the corpus", switch=True),
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

"""``spectral-spark score``: the topics of documents."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import corpus_manifest, model_summary, output_is_free
from spectral_spark.cli.flags import Flag
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb

if TYPE_CHECKING:
    from spectral_spark.cli.run import Run

SPLITS = ("all", "train", "test")


def plan(settings: Namespace) -> list[str]:
    manifest = corpus_manifest(settings.corpus)
    summary = model_summary(settings.model)
    output_is_free(settings.output, settings.overwrite)
    return [
        f"infer the shares of {summary['k']} topics in {number(_documents(manifest, settings))} documents "
        f"of '{settings.corpus}'",
        f"write doc_id and topicDistribution as Parquet to '{settings.output}'",
        f"memory: each worker holds the topics, {summary['terms'] * summary['k'] * 8 / 2**20:,.1f} MiB",
    ]


def _documents(manifest: dict[str, Any], settings: Namespace) -> int:
    split = settings.split or "all"
    return int(manifest["kept"] if split == "all" else manifest["documents"].get(split, 0))


def run(run: "Run", settings: Namespace) -> None:
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as F

    from spectral_spark import SpectralHDPModel
    from spectral_spark.engine.parquet import write_parquet
    from spectral_spark.files.locking import only_writer
    from spectral_spark.ingest.corpus_store import open_corpus
    from spectral_spark.ingest.translate import in_vocabulary

    corpus = open_corpus(run.spark, settings.corpus)
    model = SpectralHDPModel.load(settings.model)
    documents = corpus.documents(None if settings.split in (None, "all") else settings.split)
    shares = vector_to_array(F.col("topicDistribution")).alias("topicDistribution")
    scored = model.transform(in_vocabulary(documents, corpus.vocabulary, model.words)).select("doc_id", shares)
    with only_writer(settings.output), run.terminal.doing("scoring"):
        written = write_parquet(scored, settings.output, overwrite=settings.overwrite)
    run.terminal.say(f"scores {settings.output}: {number(written)} documents in {duration(run.seconds)}")


VERB = Verb(
    name="score",
    summary="infer the topics of every document",
    description=(
        "Infer each document's topic shares with a fitted model, around its tree node's proportions, and write them\n"
        "as Parquet: doc_id string, topicDistribution array<double>."
    ),
    example="spectral-spark score --corpus out/corpus --model out/model --output out/scores",
    flags=(
        Flag("corpus", "the documents, a corpus as ingest makes it", metavar="CORPUS", required=True),
        Flag("model", "a fitted model", metavar="MODEL", required=True),
        Flag("output", "directory of Parquet files to make", metavar="DIR", required=True),
        Flag("split", "which documents (default all)", choices=SPLITS),
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

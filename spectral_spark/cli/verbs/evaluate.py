"""``spectral-spark evaluate``: how good a model is."""

import json
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import corpus_manifest, model_summary, output_is_free, topics_memory
from spectral_spark.cli.flags import Flag
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.errors import InputError
from spectral_spark.files.directories import write_file
from spectral_spark.files.formats import EVALUATION_KIND

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun


def plan(settings: Namespace) -> list[str]:
    held_out = corpus_manifest(settings.corpus)["documents"].get("test", 0)
    summary = model_summary(settings.model)
    output_is_free(
        settings.output, settings.overwrite, kind=EVALUATION_KIND,
        inputs={"--corpus": settings.corpus, "--model": settings.model},
    )
    if not held_out:
        raise InputError(
            f"--corpus '{settings.corpus}' has no test documents; ingest it with --holdout N to set some aside"
        )
    return [
        f"predict one half of the words of each of {number(held_out)} held-out documents from the other half, "
        f"with the {summary['k']} topics of '{settings.model}'",
        f"write the loss, the unigram loss and the coherence, for every tree node too, to '{settings.output}'",
        topics_memory(summary),
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark import SpectralHDPModel
    from spectral_spark.evaluate.evaluation import evaluate
    from spectral_spark.ingest.corpus_store import open_corpus

    spark = run.spark
    with run.terminal.doing("evaluating"):
        corpus = open_corpus(spark, settings.corpus)
        found = evaluate(corpus, SpectralHDPModel.load(settings.model).files, progress=run.passes)
    text = json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_file(settings.output, text.encode(), EVALUATION_KIND, overwrite=settings.overwrite)
    run.terminal.say(*summary_lines(found, settings.output, run.seconds))


def summary_lines(found: dict[str, Any], output: str, seconds: float) -> list[str]:
    """What an evaluation tells at its end."""
    return [
        f"evaluation {output}: loss {found['loss']:.3f} nats per word (unigram {found['unigram_loss']:.3f}) on "
        f"{number(found['tokens'])} held-out words, NPMI {found['npmi']:.3f}, in {duration(seconds)}"
    ]


VERB = Verb(
    name="evaluate",
    summary="measure a model on held-out documents",
    description=(
        "Document completion: half of the words of each held-out document are used to infer its topics, and the loss\n"
        "is the mean of −log p over the words of the other half, shown beside the loss of a model without topics.\n"
        "The result also has the loss of every node of the tree and the coherence of the topics (NPMI)."
    ),
    example="spectral-spark evaluate --corpus out/corpus --model out/model --output out/evaluation.json",
    flags=(
        Flag("corpus", "a corpus with held-out documents (ingest --holdout)", metavar="CORPUS", required=True),
        Flag("model", "a fitted model", metavar="MODEL", required=True),
        Flag("output", "the result", metavar="FILE.json", required=True),
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

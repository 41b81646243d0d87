"""``spectral-spark answers``: what the report shows about documents, in one file."""

import json
from argparse import Namespace
from typing import TYPE_CHECKING

from spectral_spark.cli.checks import corpus_manifest, input_is_there, model_summary, output_is_free, topics_memory
from spectral_spark.cli.flags import Flag, fraction, names, whole_number
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.cli.verbs.explain import METADATA_FLAGS, metadata_of
from spectral_spark.files.directories import write_file
from spectral_spark.files.formats import ANSWERS_KIND

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun

EXEMPLARS, DEPTH, INTERVAL = 3, 1, 0.9


def plan(settings: Namespace) -> list[str]:
    manifest, summary = corpus_manifest(settings.corpus), model_summary(settings.model)
    output_is_free(
        settings.output, settings.overwrite, kind=ANSWERS_KIND,
        inputs={"--corpus": settings.corpus, "--model": settings.model, "--metadata": settings.metadata},
    )
    lines = [f"estimate the shares of the {summary['k']} topics of '{settings.model}' for every node, with intervals, "
             "and find the documents that show each topic best"]
    if settings.by:
        table, where = metadata_of(settings, manifest), "the corpus"
        if table is not None:
            input_is_there(table[0], "--metadata")
            where = f"'{table[0]}' by the id '{table[1]}'"
        lines.append(f"explain them by {' and by '.join(settings.by)}, read from {where}")
    return [*lines, f"write the answers, without any text, to '{settings.output}'", topics_memory(summary)]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.cli.opened import opened, with_metadata
    from spectral_spark.ml.answer_sheet import answer_sheet

    with run.terminal.doing("asking the model about the documents"):
        table = metadata_of(settings, corpus_manifest(settings.corpus)) if settings.by else None
        model, documents = opened(run.spark, settings.corpus, settings.model, kept=bool(settings.by and table is None))
        if table is not None:
            documents = with_metadata(documents, *table)
        wanted = settings.exemplars if settings.exemplars is not None else EXEMPLARS
        found = answer_sheet(
            model, documents, [name.split("+") for name in settings.by or ()], exemplars=wanted,
            depth=DEPTH if settings.depth is None else settings.depth, interval=settings.interval or INTERVAL,
        )
    text = json.dumps(found, ensure_ascii=False, allow_nan=False) + "\n"
    write_file(settings.output, text.encode(), ANSWERS_KIND, overwrite=settings.overwrite)
    counted = ", ".join(f"{number(len(found[name]))} {name if len(found[name]) != 1 else name[:-1]}"
                        for name in ("nodes", "exemplars", "columns"))
    run.terminal.say(f"answers {settings.output}: {counted}, in {duration(run.seconds)}; show them with "
                     f"'report --answers {settings.output}'")


VERB = Verb(
    name="answers",
    summary="intervals, exemplars and columns for the report",
    description=(
        "Ask a model about documents and keep the answers for the report: the topic shares of every node with\n"
        "intervals, the documents that show each topic best (by id), and topic shares by month, author or any column.\n"
        "The file holds shares, names of nodes and values, and ids of documents; no text."
    ),
    example="spectral-spark answers --corpus out/corpus --model out/model --by month --output out/answers.json",
    flags=(
        Flag("corpus", "the documents, a corpus as ingest makes it", metavar="CORPUS", required=True),
        Flag("model", "a fitted model", metavar="MODEL", required=True),
        Flag("output", "the file to make", metavar="FILE.json", required=True),
        Flag("by", "columns to explain, separated by commas; project+month stands for every combination of values",
             names, "COLUMN,…"),
        *METADATA_FLAGS,
        Flag("exemplars", f"documents of each topic and node; 0 for none (default {EXEMPLARS})", whole_number(0), "N"),
        Flag("depth", f"levels of the tree that have exemplars of their own (default {DEPTH})", whole_number(0), "N"),
        Flag("interval", f"probability of the intervals (default {INTERVAL})", fraction, "P"),
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

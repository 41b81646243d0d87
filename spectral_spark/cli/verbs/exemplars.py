"""``spectral-spark exemplars``: the documents that show a topic best."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import corpus_manifest, model_summary, topics_memory
from spectral_spark.cli.flags import Flag, names, whole_number
from spectral_spark.cli.tables import FORMAT, result_lines
from spectral_spark.cli.verb import Verb

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun

EXEMPLARS = 5
LETTERS = 300               # of a text that is shown


def plan(settings: Namespace) -> list[str]:
    manifest, summary = corpus_manifest(settings.corpus), model_summary(settings.model)
    again = [f"read '{manifest['settings'].get('input')}' again for the texts"] if settings.show_text else []
    return [
        f"find the {settings.n or EXEMPLARS} documents of '{settings.corpus}' that show each of the {summary['k']} "
        f"topics of '{settings.model}' best",
        *again,
        topics_memory(summary),
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.cli.opened import opened, wanted_topics
    from spectral_spark.engine.spark_versions import to_arrow

    with run.terminal.doing("finding exemplars"):
        model, documents = opened(run.spark, settings.corpus, settings.model)
        topics = wanted_topics(model, settings.topics)
        found = model.exemplars(
            documents, settings.n or EXEMPLARS, node=settings.node, depth=settings.depth or 0,
            background=settings.topics is not None,
        )
        rows: list[dict[str, Any]] = [row for row in to_arrow(found).to_pylist() if row["topic"] in topics]
        columns = ["topic", "label", "path", "rank", "id", "share", "words"]
        if settings.show_text:
            from spectral_spark.ingest.source_text import source_texts

            texts = source_texts(run.spark, corpus_manifest(settings.corpus), {row["id"] for row in rows})
            rows = [{**row, "text": " ".join(texts.get(row["id"], "").split())[:LETTERS]} for row in rows]
            columns.append("text")
    rows.sort(key=lambda row: (len(row["path"]), row["path"], row["topic"], row["rank"]))
    run.terminal.print(*result_lines(rows, columns, settings.format))


VERB = Verb(
    name="exemplars",
    summary="the documents that show each topic best",
    description=(
        "List the documents with the largest share of each topic, by id, for the whole corpus or for the nodes of the\n"
        "tree. One pass over the documents; of documents that share most of their words only the best one is listed.\n"
        "Text is shown only on request, and read from where the corpus was ingested from."
    ),
    example="spectral-spark exemplars --corpus out/corpus --model out/model --n 3 --topics 0,4",
    flags=(
        Flag("corpus", "the documents, a corpus as ingest makes it", metavar="CORPUS", required=True),
        Flag("model", "a fitted model", metavar="MODEL", required=True),
        Flag("n", f"documents of each topic and node (default {EXEMPLARS})", whole_number(1), "N"),
        Flag("topics", "only these topics, by number or label, separated by commas", names, "TOPIC,…"),
        Flag("node", "only documents at or below this node of the tree: REGION/TOWN", metavar="PATH"),
        Flag("depth", "also list exemplars of the nodes so many levels below (default 0)", whole_number(0), "N"),
        Flag("show-text", f"show the first {LETTERS} letters of each document, read from the source again",
             switch=True),
        FORMAT,
    ),
    plan=plan,
    run=run,
)

"""``spectral-spark explain``: topic shares over time, by author, by any column."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import corpus_manifest, input_is_there, model_summary, topics_memory
from spectral_spark.cli.flags import Flag, fraction, names, whole_number
from spectral_spark.cli.tables import FORMAT, result_lines
from spectral_spark.cli.verb import Verb
from spectral_spark.data.value_types import nearest
from spectral_spark.errors import SettingsError
from spectral_spark.ingest.corpus_manifest import kept_types

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun

INTERVAL = 0.9
METADATA_FLAGS = (
    Flag("metadata", "a Parquet, JSON lines or CSV table with the columns (default: what was ingested)",
         metavar="TABLE"),
    Flag("id-col", "its column of document ids (default: that of ingest)", metavar="COLUMN"),
)
COLUMNS = ("value", "documents", "topic", "label", "share", "lower", "upper", "trendQValue", "changeQValue")


def metadata_of(settings: Namespace, manifest: dict[str, Any]) -> tuple[str, str] | None:
    """The table with the columns, and its column of document ids: as given, or what the corpus was made from.

    None where the corpus carries the columns itself.
    """
    made, carried = manifest["settings"], kept_types(manifest)
    asked = [name for given in settings.by for name in ([given] if given in carried else given.split("+"))]
    if settings.metadata is None and set(asked) <= set(carried):
        return None
    if settings.metadata is None and (made.get("source") != "table" or not made.get("id_col")):
        if carried:
            wrong = next(name for name in asked if name not in carried)
            raise SettingsError(f"the corpus has no column '{wrong}'; it carries {', '.join(carried)}"
                                f"{nearest(wrong, carried)}")
        raise SettingsError("the corpus carries no columns (ingest --keep-cols), and was not made from a table with "
                            "ids; give a table of document ids and columns with --metadata and --id-col")
    table, key = settings.metadata or made["input"], settings.id_col or made.get("id_col")
    return table, key or "doc_id"


def plan(settings: Namespace) -> list[str]:
    found = metadata_of(settings, corpus_manifest(settings.corpus))
    summary = model_summary(settings.model)
    where = "the corpus"
    if found is not None:
        input_is_there(found[0], "--metadata")
        where = f"'{found[0]}', by its id '{found[1]}'"
    return [
        f"read {', '.join(settings.by)} of every document from {where}",
        f"estimate the shares of the {summary['k']} topics of '{settings.model}' for every value, with "
        f"{settings.interval or INTERVAL:.0%} intervals",
        topics_memory(summary),
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.cli.opened import opened, wanted_topics, with_metadata
    from spectral_spark.engine.spark_versions import to_arrow

    with run.terminal.doing("explaining"):
        found = metadata_of(settings, corpus_manifest(settings.corpus))
        model, documents = opened(run.spark, settings.corpus, settings.model, kept=found is None)
        topics = wanted_topics(model, settings.topics)
        described = documents if found is None else with_metadata(documents, *found)
        explained = model.explain(
            described, list(settings.by), within=settings.within, interval=settings.interval or INTERVAL,
            bins=settings.bins, groupLevel=settings.group_level,
        )
        rows = [row for row in to_arrow(explained).to_pylist() if row["topic"] in topics]
    rows.sort(key=lambda row: row["topic"])                # values stay in their order
    run.terminal.print(*result_lines(rows, COLUMNS, settings.format))


VERB = Verb(
    name="explain",
    summary="topic shares by month, author or any column, with intervals",
    description=(
        "Topic shares for every value of a column: over time, per author, per rating; with intervals, and two tests\n"
        "per topic: for a trend over the ordered values, and for any change (q-values, adjusted for the number of\n"
        "topics).\n"
        "The columns are those that ingest --keep-cols carried into the corpus; others are read from the table that\n"
        "the corpus was ingested from, or from another one, by document id."
    ),
    example="spectral-spark explain --corpus out/corpus --model out/model --by month --within coast",
    flags=(
        Flag("corpus", "the documents, a corpus as ingest makes it", metavar="CORPUS", required=True),
        Flag("model", "a fitted model", metavar="MODEL", required=True),
        Flag("by", "the column; several, separated by commas, stand for every combination of values", names,
             "COLUMN,…", required=True),
        *METADATA_FLAGS,
        Flag("within", "only documents at or below this node of the tree: REGION/TOWN", metavar="PATH"),
        Flag("bins", "put a column of numbers into so many bins of equally many documents", whole_number(2), "N"),
        Flag("topics", "only these topics, by number or label, separated by commas", names, "TOPIC,…"),
        Flag("interval", f"probability of the intervals (default {INTERVAL})", fraction, "P"),
        Flag("group-level", "draw whole groups of this level of the tree, not single documents", whole_number(1), "N"),
        FORMAT,
    ),
    plan=plan,
    run=run,
)

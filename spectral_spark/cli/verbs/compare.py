"""``spectral-spark compare``: how two groups differ in their topics."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import corpus_manifest, model_summary, topics_memory
from spectral_spark.cli.flags import Flag, fraction, whole_number
from spectral_spark.cli.tables import FORMAT, result_lines
from spectral_spark.cli.verb import Verb
from spectral_spark.errors import SettingsError

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun

INTERVAL = 0.9
COLUMNS = ("topic", "label", "shareA", "shareB", "difference", "lower", "upper", "qValue")


def plan(settings: Namespace) -> list[str]:
    corpus_manifest(settings.corpus)
    summary = model_summary(settings.model)
    if settings.parents == bool(settings.a and settings.b) or (settings.parents and (settings.a or settings.b)):
        raise SettingsError("give two nodes with --a and --b, or --parents to compare every node with its parent")
    what = "every node with its parent" if settings.parents else f"'{settings.a}' with '{settings.b}'"
    return [
        f"compare {what} in the {summary['k']} topics of '{settings.model}', with {settings.interval or INTERVAL:.0%} "
        "intervals",
        topics_memory(summary),
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.cli.opened import opened
    from spectral_spark.engine.spark_versions import to_arrow

    with run.terminal.doing("comparing"):
        model, documents = opened(run.spark, settings.corpus, settings.model)
        asked: dict[str, Any] = {"interval": settings.interval or INTERVAL, "groupLevel": settings.group_level}
        if settings.parents:
            rows = to_arrow(model.compareWithParents(documents, **asked)).to_pylist()
        else:
            found = model.compare(settings.a, settings.b, documents, simultaneously=settings.simultaneously, **asked)
            rows = to_arrow(found).to_pylist()
    rows.sort(key=lambda row: -abs(row["difference"]))
    columns = [*(("path",) if settings.parents else ()), *COLUMNS]
    run.terminal.print(*result_lines(rows, columns, settings.format))
    differing = sum(row["qValue"] <= 1 - asked["interval"] for row in rows)
    if settings.format in (None, "table"):
        run.terminal.say(f"{differing} of {len(rows)} differences are more than chance, with at most "
                         f"{1 - asked['interval']:.0%} false ones expected among them (Benjamini-Hochberg)")


VERB = Verb(
    name="compare",
    summary="how two groups differ in their topics, with intervals",
    description=(
        "Compare two nodes of the tree, or every node with its parent, topic by topic: shares, their difference with\n"
        "an interval, and a q-value that is adjusted for the number of topics. Uncertainty comes from a seeded\n"
        "Poisson bootstrap over documents in one pass; the leaning of documents towards their node is undone first."
    ),
    example="spectral-spark compare --corpus out/corpus --model out/model --a coast --b highlands",
    flags=(
        Flag("corpus", "the documents, a corpus as ingest makes it", metavar="CORPUS", required=True),
        Flag("model", "a fitted model", metavar="MODEL", required=True),
        Flag("a", "the first node, REGION/TOWN; / is the whole corpus", metavar="PATH"),
        Flag("b", "the second node", metavar="PATH"),
        Flag("parents", "compare every node with its parent", switch=True),
        Flag("interval", f"probability of the intervals (default {INTERVAL})", fraction, "P"),
        Flag("simultaneously", "widen the intervals so that those of all topics hold together", switch=True),
        Flag("group-level", "draw whole groups of this level of the tree, not single documents: for questions about "
             "more than these groups", whole_number(1), "N"),
        FORMAT,
    ),
    plan=plan,
    run=run,
)

"""``spectral-spark compare``: how two groups differ in their topics, and in how they word them."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import corpus_manifest, input_is_there, model_summary, topics_memory
from spectral_spark.cli.flags import Flag, fraction, names, whole_number
from spectral_spark.cli.tables import FORMAT, result_lines
from spectral_spark.cli.verb import Verb
from spectral_spark.errors import SettingsError
from spectral_spark.ingest.corpus_manifest import kept_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spectral_spark.cli.run import CommandRun
    from spectral_spark.ml.hdp import SpectralHDPModel

INTERVAL, WORDS = 0.9, 10
COLUMNS = ("topic", "label", "shareA", "shareB", "difference", "lower", "upper", "qValue")
WORD_COLUMNS = ("topic", "label", "term", "share", "otherShare", "logOdds", "z", "count")
WAYS = ("give two nodes with --a and --b, --parents to compare every node with its parent, --siblings NODE to compare "
        "the groups below a node in pairs, or two selections with --where-a and --where-b")


def way_of(settings: Namespace) -> str:
    """What is compared: nodes, parents, siblings or selections; words if it is the wording of topics."""
    given = [name for name, there in (
        ("nodes", settings.a or settings.b), ("parents", settings.parents), ("siblings", settings.siblings is not None),
        ("selections", settings.where_a or settings.where_b),
    ) if there]
    if settings.words:
        if given != ["nodes"] or not settings.a:
            raise SettingsError("--words takes a node with --a, another with --b or none for all other documents, and "
                                "--topics")
        if not settings.topics:
            raise SettingsError("--words needs --topics: whose words?")
        return "words"
    if len(given) != 1:
        raise SettingsError(WAYS)
    if (given == ["nodes"] and not (settings.a and settings.b)) or (given == ["selections"] and not settings.where_a):
        raise SettingsError(WAYS)
    return given[0]


def plan(settings: Namespace) -> list[str]:
    corpus_manifest(settings.corpus)
    summary, way = model_summary(settings.model), way_of(settings)
    if settings.metadata:
        input_is_there(settings.metadata, "--metadata")
    what = {
        "parents": "every node with its parent", "siblings": f"the groups below '{settings.siblings}' in pairs",
        "nodes": f"'{settings.a}' with '{settings.b}'",
        "selections": f"documents where {settings.where_a} with {settings.where_b or 'all others'}",
        "words": f"the wording of '{settings.a}' with that of '{settings.b or 'all other documents'}'",
    }[way]
    return [
        f"compare {what} in the {summary['k']} topics of '{settings.model}', with {settings.interval or INTERVAL:.0%} "
        "intervals",
        topics_memory(summary),
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.cli.opened import opened, wanted_topics
    from spectral_spark.engine.spark_versions import to_arrow

    way, level = way_of(settings), settings.interval or INTERVAL
    with run.terminal.doing("comparing"):
        carried = kept_types(corpus_manifest(settings.corpus))
        model, documents = opened(run.spark, settings.corpus, settings.model, kept=bool(carried))
        topics = wanted_topics(model, settings.topics)
        found, front = _compared(model, documents, settings, way, level)
        rows = [row for row in to_arrow(found).to_pylist() if row["topic"] in topics]
    if way == "words":
        run.terminal.print(*result_lines(rows, WORD_COLUMNS, settings.format))
        return
    rows.sort(key=lambda row: -abs(row["difference"]))
    run.terminal.print(*result_lines(rows, [*front, *COLUMNS], settings.format))
    differing = sum(row["qValue"] <= 1 - level for row in rows)
    if settings.format in (None, "table"):
        run.terminal.say(f"{differing} of {len(rows)} differences are more than chance, with at most {1 - level:.0%} "
                         "false ones expected among them (Benjamini-Hochberg)")


def _compared(
    model: "SpectralHDPModel", documents: "DataFrame", settings: Namespace, way: str, level: float
) -> tuple["DataFrame", tuple[str, ...]]:
    """The table, and its columns that name what is compared."""
    from spectral_spark.cli.opened import check_side, selected, selections

    asked: dict[str, Any] = {"interval": level, "groupLevel": settings.group_level}
    if way == "words":
        topics = list(settings.topics)
        return model.wording(settings.a, topics, documents, against=settings.b, n=settings.n or WORDS), ()
    if way == "parents":
        return model.compareWithParents(documents, **asked), ("path",)
    if way == "siblings":
        return model.compareSiblings(settings.siblings, documents, **asked), ("a", "b")
    asked["simultaneously"] = settings.simultaneously
    manifest = corpus_manifest(settings.corpus)
    if way == "nodes":
        kept = kept_types(manifest)
        for flag, side in (("--a", settings.a), ("--b", settings.b)):
            check_side(flag, side, kept, model.nodes.paths)
        a, b = (selected(documents, side, kept) for side in (settings.a, settings.b))
        if (a is None) != (b is None):
            raise SettingsError("give two nodes, or two selections COLUMN=VALUE, with --a and --b")
        given = (settings.a, settings.b, documents) if a is None else (a, b)
        return model.compare(*given, **asked), ()
    these, those = selections(documents, manifest, settings)
    return model.compare(these, those, **asked), ()


VERB = Verb(
    name="compare",
    summary="how two groups differ in their topics, with intervals",
    description=(
        "Compare two nodes of the tree, every node with its parent, all pairs of a node's groups, or two selections\n"
        "of documents, topic by topic: shares, their difference with an interval, and a q-value that is adjusted for\n"
        "the number of topics. Uncertainty comes from a seeded Poisson bootstrap over documents in one pass; the\n"
        "leaning of documents towards their node is undone first. --words compares how groups word a topic instead."
    ),
    example="spectral-spark compare --corpus out/corpus --model out/model --a coast --b highlands",
    flags=(
        Flag("corpus", "the documents, a corpus as ingest makes it", metavar="CORPUS", required=True),
        Flag("model", "a fitted model", metavar="MODEL", required=True),
        Flag("a", "the first node, REGION/TOWN; / is the whole corpus. Or documents with a value in a column that the "
             "corpus carries (ingest --keep-cols): month=2001-03", metavar="PATH"),
        Flag("b", "the second node, or documents", metavar="PATH"),
        Flag("parents", "compare every node with its parent", switch=True),
        Flag("siblings", "compare the groups directly below this node in pairs; / for the top-level groups",
             metavar="PATH"),
        Flag("where-a", "the first selection, a condition in SQL on the documents' columns and on those of --metadata: "
             "\"month >= '2001-03'\"", metavar="CONDITION"),
        Flag("where-b", "the second selection (default: all documents that are not in the first)", metavar="CONDITION"),
        Flag("metadata", "a Parquet, JSON lines or CSV table with further columns for the selections (default: what "
             "was ingested, if that was a table)", metavar="TABLE"),
        Flag("id-col", "its column of document ids (default: that of ingest)", metavar="COLUMN"),
        Flag("words", "compare how --a words the topics of --topics with how --b, or all other documents, do",
             switch=True),
        Flag("n", f"with --words: words in each direction (default {WORDS})", whole_number(1), "N"),
        Flag("topics", "only these topics, by number or label, separated by commas", names, "TOPIC,…"),
        Flag("interval", f"probability of the intervals (default {INTERVAL})", fraction, "P"),
        Flag("simultaneously", "widen the intervals so that those of all topics hold together", switch=True),
        Flag("group-level", "draw whole groups of this level of the tree, not single documents: for questions about "
             "more than these groups", whole_number(1), "N"),
        FORMAT,
    ),
    plan=plan,
    run=run,
)

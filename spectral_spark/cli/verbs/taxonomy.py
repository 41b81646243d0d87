"""``spectral-spark taxonomy``: topics folded into a tree. Needs no Spark."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import model_summary
from spectral_spark.cli.flags import Flag
from spectral_spark.cli.tables import FORMATS, result_lines
from spectral_spark.cli.verb import Verb
from spectral_spark.errors import InputError

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun
    from spectral_spark.report.taxonomy_view import Taxonomy

COLUMNS = ("node", "level", "parent", "share", "label", "words", "topics")


def level_sizes(text: str) -> list[int]:
    """Reads 10,30."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        raise ValueError(f"is '{text}'; give numbers of nodes separated by commas, such as 10,30")
    return [int(part) for part in parts]


def plan(settings: Namespace) -> list[str]:
    summary = model_summary(settings.model)
    if settings.levels:
        from spectral_spark.answers.taxonomy import checked_levels

        checked_levels(settings.levels, summary["k"])
        sizes = " and ".join(map(str, sorted(settings.levels)))
        return [f"fold the {summary['k']} topics of '{settings.model}' into levels of {sizes} nodes",
                f"write '{settings.model}/taxonomy.json' and print it", "memory: the model's topics; no Spark"]
    return [f"print the taxonomy of '{settings.model}'", "memory: the model's topics; no Spark"]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.files.directories import replace_file
    from spectral_spark.files.model_files import read_model_files
    from spectral_spark.files.taxonomy_file import TAXONOMY_JSON, taxonomy_text
    from spectral_spark.report.taxonomy_view import Taxonomy, taxonomy_of

    files = read_model_files(settings.model)
    if settings.levels:
        taxonomy = taxonomy_of(files, settings.levels)
        replace_file(f"{settings.model}/{TAXONOMY_JSON}", taxonomy_text(taxonomy.as_dict()).encode())
    elif files.taxonomy is None:
        raise InputError(f"'{settings.model}' has no taxonomy yet; say how many nodes its levels are to have, for "
                         "example --levels 10,30")
    else:
        taxonomy = Taxonomy.from_dict(files.taxonomy)
    if settings.format in ("csv", "json"):
        run.terminal.print(*result_lines(rows(taxonomy), COLUMNS, settings.format))
        return
    run.terminal.print(*taxonomy.lines())
    kept = ", ".join(f"{share:.0%} with {size} nodes"
                     for size, share in zip(taxonomy.levels, taxonomy.information, strict=True))
    run.terminal.say(f"kept of what the topics say about words: {kept}")


def rows(taxonomy: "Taxonomy") -> list[dict[str, Any]]:
    """One row per node; words and topics are separated by spaces."""
    return [
        {"node": at, "level": node.level, "parent": node.parent, "share": node.share, "label": node.label,
         "words": " ".join(node.words), "topics": " ".join(map(str, node.topics))}
        for at, node in enumerate(taxonomy.nodes)
    ]


VERB = Verb(
    name="taxonomy",
    summary="fold the topics into a tree",
    description=(
        "Fold the topics into a tree with as many nodes on each level as you ask for: always the two are merged that\n"
        "lose the least information about words. The tree is written to MODEL/taxonomy.json, where you may rename its\n"
        "nodes, and the report shows it; updates fold the changed topics again. Without --levels, the tree that the\n"
        "model has is printed. Reads the model's files only: no Spark."
    ),
    example="spectral-spark taxonomy out/model --levels 3,6",
    flags=(
        Flag("model", "a fitted model; may be given without the flag's name", metavar="MODEL", required=True),
        Flag("levels", "how many nodes each level is to have, for example 10,30", level_sizes, "N,M,…"),
        Flag("format", "table (default), csv, or json with one object per line", choices=FORMATS),
    ),
    plan=plan,
    run=run,
    positional="model",
)

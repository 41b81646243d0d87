"""``spectral-spark topics``: all topics of a model as a table, CSV or JSON. Needs no Spark."""

import json
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import model_summary
from spectral_spark.cli.flags import Flag, whole_number
from spectral_spark.cli.tables import csv_line
from spectral_spark.cli.terminal import printable
from spectral_spark.cli.verb import Verb

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun

FORMATS = ("table", "csv", "json")
MEASURES = ("probability", "frex", "lift", "relevance")
WORDS = 10


def plan(settings: Namespace) -> list[str]:
    summary = model_summary(settings.model)
    return [
        f"list the {summary['k']} topics of '{settings.model}' with {settings.words or WORDS} words each, "
        f"as {settings.format or 'table'}",
        "memory: the model's topics; no Spark",
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.files.model_files import read_model_files
    from spectral_spark.report.topic_table import topic_table

    rows = topic_table(read_model_files(settings.model), settings.words or WORDS)
    column = {"frex": "distinctive", "lift": "lift", "relevance": "relevance"}.get(settings.by or "", "words")
    if settings.format != "json":
        rows = [{**row, "words": row[column]} for row in rows]
    write = {"table": table_lines, "csv": csv_lines, "json": json_lines}[settings.format or "table"]
    run.terminal.print(*write(rows))


def table_lines(rows: list[dict[str, Any]]) -> list[str]:
    """One line per topic for people to read, the largest topic first."""
    named = [printable(row["label"]) if row["named"] else "" for row in rows]
    width = max(map(len, named), default=0)
    label = f"{'label':<{max(width, 5)}}  " if width else ""
    origins = [printable(row.get("lineage", "")) for row in rows]
    long = max(map(len, origins), default=0)
    origin = f"{'from':<{max(long, 4)}}  " if long else ""
    known = any(row["stability"] is not None for row in rows)
    return [
        f"topic  share of words  {'stability  ' if known else ''}{origin}{label}words",
        *(f"{row['topic']:>5}  {row['share']:>14.1%}  {_stability(row) if known else ''}"
          f"{f'{came:<{max(long, 4)}}  ' if long else ''}"
          f"{f'{name:<{max(width, 5)}}  ' if width else ''}{' '.join(row['words'])}"
          for row, name, came in zip(rows, named, origins, strict=True)),
    ]


def _stability(row: dict[str, Any]) -> str:
    return f"{'-' if row['stability'] is None else format(row['stability'], '.0%'):>9}  "


def csv_lines(rows: list[dict[str, Any]]) -> list[str]:
    """A header and one line per topic; words are separated by spaces."""
    lines = []
    more = ("lineage",) if any("lineage" in row for row in rows) else ()
    for values in (
        ("topic", "share", "words", "label", "stability", *more),
        *((r["topic"], r["share"], " ".join(r["words"]), r["label"], "" if r["stability"] is None else r["stability"],
           *(r[name] for name in more)) for r in rows),
    ):
        lines.append(csv_line(values))
    return lines


def json_lines(rows: list[dict[str, Any]]) -> list[str]:
    """One JSON list with an object per topic; ``report.topic_table`` says what it holds."""
    inner = [_json(row) for row in rows]
    return ["[", *(f"  {text}{',' if at < len(inner) else ''}" for at, text in enumerate(inner, 1)), "]"]


def _json(row: dict[str, Any]) -> str:
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return text if printable(text) == text else json.dumps(row, allow_nan=False)


VERB = Verb(
    name="topics",
    summary="list all topics of a model with their words",
    description=(
        "List every topic of a fitted model, the largest first: its number, its share of the words of the corpus, its\n"
        "stability (the probability that it comes back from another seed), and its words, with the labels that people\n"
        "gave ('spectral-spark labels'). CSV and JSON are for other programs; JSON also has the words' probabilities\n"
        "and the words by every measure. Reads the model's files only, so no Spark is started."
    ),
    example="spectral-spark topics out/model --words 15",
    flags=(
        Flag("model", "a fitted model; may be given without the flag's name", metavar="MODEL", required=True),
        Flag("format", "table (default), csv or json", choices=FORMATS),
        Flag("by", "order of the words: probability (default), frex (frequent and exclusive), lift or relevance",
             choices=MEASURES),
        Flag("words", f"words of each topic (default {WORDS})", whole_number(1), "N"),
    ),
    plan=plan,
    run=run,
    positional="model",
)

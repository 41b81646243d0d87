"""``spectral-spark topics``: all topics of a model as a table, CSV or JSON. Needs no Spark."""

import csv
import io
import json
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import model_summary
from spectral_spark.cli.flags import Flag, whole_number
from spectral_spark.cli.terminal import printable
from spectral_spark.cli.verb import Verb

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun

FORMATS = ("table", "csv", "json")
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
    write = {"table": table_lines, "csv": csv_lines, "json": json_lines}[settings.format or "table"]
    run.terminal.print(*write(rows))


def table_lines(rows: list[dict[str, Any]]) -> list[str]:
    """One line per topic for people to read, the largest topic first."""
    return [
        "topic  share of words  words, the most frequent first",
        *(f"{row['topic']:>5}  {row['share']:>14.1%}  {' '.join(row['words'])}" for row in rows),
    ]


def csv_lines(rows: list[dict[str, Any]]) -> list[str]:
    """A header and one line per topic; words are separated by spaces."""
    lines = []
    for values in (("topic", "share", "words"), *((r["topic"], r["share"], " ".join(r["words"])) for r in rows)):
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="").writerow([printable(str(value)) for value in values])
        lines.append(buffer.getvalue())
    return lines


def json_lines(rows: list[dict[str, Any]]) -> list[str]:
    """One JSON list with an object per topic: topic, share, words, probabilities, distinctive."""
    inner = [_json(row) for row in rows]
    return ["[", *(f"  {text}{',' if at < len(inner) else ''}" for at, text in enumerate(inner, 1)), "]"]


def _json(row: dict[str, Any]) -> str:
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return text if printable(text) == text else json.dumps(row, allow_nan=False)


VERB = Verb(
    name="topics",
    summary="list all topics of a model with their words",
    description=(
        "List every topic of a fitted model, the largest first: its number, its share of the words of the corpus, and\n"
        "its most frequent words. CSV and JSON are for other programs; JSON also has the words' probabilities and the\n"
        "words that set the topic apart from the others. Reads the model's files only, so no Spark is started."
    ),
    example="spectral-spark topics out/model --words 15",
    flags=(
        Flag("model", "a fitted model; may be given without the flag's name", metavar="MODEL", required=True),
        Flag("format", "table (default), csv or json", choices=FORMATS),
        Flag("words", f"words of each topic (default {WORDS})", whole_number(1), "N"),
    ),
    plan=plan,
    run=run,
    positional="model",
)

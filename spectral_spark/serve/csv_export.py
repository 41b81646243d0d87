"""Topics as a plain CSV file."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from spectral_spark.files.directories import resolve

HEADER = ("topic", "share", "words", "label")


def write_topics(rows: Iterable[Mapping[str, Any]], path: str) -> None:
    """Write rows of ``report.topic_table``: number, share, words separated by spaces, and label of each topic."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows((row["topic"], row["share"], " ".join(row["words"]), row["label"]) for row in rows)
    filesystem, inside = resolve(path)
    with filesystem.open_output_stream(inside) as target:
        target.write(text.getvalue().encode("utf-8"))

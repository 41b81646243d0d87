"""Lines that stand in many documents: found by counting hashes of lines, and written to a file that the user names.

They are text of the documents, so they go nowhere else.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import functions as F

from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.ingest.boilerplate_file import write_boilerplate_file
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.readers.source import BatchParser, Source, readable_input
from spectral_spark.plain_text import printable
from spectral_spark.text.dropped_lines import line_key, plain_line

MOST_LINES = 100_000
_SHORTEST, _LONGEST = 12, 500       # characters: shorter lines are greetings and names, longer ones are paragraphs


def write_boilerplate(source: Source, settings: IngestSettings) -> int:
    """Write the lines that stand in at least ``boilerplate_documents`` documents; returns how many there are."""
    finder = _LineFinder(source.parse)
    with readable_input(settings.input):
        lines = source.rows.mapInArrow(finder, "key string, place string")
        counted = lines.groupBy("key").agg(F.count("*").alias("documents"), F.countDistinct("place").alias("groups"))
        found = to_arrow(counted.filter(F.col("documents") >= settings.boilerplate_documents)
                         .orderBy(F.desc("documents"), F.asc("key")).limit(MOST_LINES))
        keys = found["key"].to_pylist()
        shown = source.rows.mapInArrow(_LineFinder(source.parse, frozenset(keys)), "key string, place string")
        texts = {row["key"]: row["line"] for row in
                 shown.groupBy("key").agg(F.min("place").alias("line")).collect()} if keys else {}
    counts = zip(keys, found["documents"].to_pylist(), found["groups"].to_pylist(), strict=True)
    report = [f"{documents}\t{groups}\t{texts[key]}" for key, documents, groups in counts
              if printable(texts[key]) == texts[key]]
    write_boilerplate_file(str(settings.find_boilerplate), report)
    return len(report)


@dataclass(frozen=True)
class _LineFinder:
    """The lines of every document: each once, as its key and the group of the document; or, of the wanted keys, as its
    key and the line itself.
    """

    parse: BatchParser | None
    wanted: frozenset[str] | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            parsed = batch if self.parse is None else self.parse(batch)
            keys: list[str] = []
            places: list[str] = []
            for text, path in zip(parsed.column("text").to_pylist(), parsed.column("path").to_pylist(), strict=True):
                lines = {line_key(line): plain_line(line) for line in (text or "").split("\n")
                         if _SHORTEST <= len(line.strip()) <= _LONGEST}
                place = "/".join(part or "" for part in path or ())
                for key, line in lines.items():
                    if self.wanted is None or key in self.wanted:
                        keys.append(key)
                        places.append(place if self.wanted is None else line)
            yield pa.RecordBatch.from_arrays([pa.array(keys, pa.string()), pa.array(places, pa.string())],
                                             names=["key", "place"])

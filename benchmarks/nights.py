"""A model that is updated every night, beside one fit of everything: loss and time.

    python benchmarks/nights.py --corpus out/enron/corpus --input data/enron_mail.tar.gz [--nights 20 --k 50]

The corpus is one that ``ingest --source enron`` made of the archive, which is read again for the dates of the mails.
The first half of the training mails, in date order, is fitted; the other half arrives in equal parts, one a night.
Losses are those of the corpus' test mails. The fit of everything is timed before and after the nights, in the same
session.
"""

import argparse
import os
import re
import sys
import tarfile
import time
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import RESULTS, context, markdown_table, write_json
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spectral_spark.cli.verbs.fit import estimator
from spectral_spark.engine.session import start_session
from spectral_spark.ingest.corpus_store import open_corpus

HEADER_BYTES = 4096


def mail_dates(archive: Path) -> dict[str, float]:
    """Seconds since 1970 of every mail by its place below ``maildir/``; 0 where the date cannot be read."""
    dates = {}
    with tarfile.open(archive, "r|gz") as members:
        for member in members:
            file = members.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            found = re.search(r"^Date:\s*(.+)$", file.read(HEADER_BYTES).decode("latin-1"), re.M)
            try:
                stamp = parsedate_to_datetime(found[1].strip()).timestamp() if found else 0.0
            except (ValueError, OverflowError):
                stamp = 0.0
            dates[member.name.split("maildir/")[-1]] = stamp
    return dates


def by_date(train: DataFrame, dates: dict[str, float]) -> DataFrame:
    """The documents with their place in date order, ``rank``."""
    names = [row[0] for row in train.select("doc_id").collect()]
    order = sorted(names, key=lambda name: (dates.get(name, 0.0), name))
    ranks = pa.table({"doc_id": order, "rank": pa.array(range(len(order)), pa.int32())})
    return train.join(train.sparkSession.createDataFrame(ranks), "doc_id").cache()


def measure(train: DataFrame, test: DataFrame, words: tuple[str, ...], k: int, nights: int) -> list[dict[str, Any]]:
    """A row for one fit of everything, one for the fit of the first half, and one for every night."""
    hdp, total = estimator(words, k=k, groupBalance=1.0), train.count()
    hdp.fit(train.filter(F.col("rank") < 3000))                         # the first fit of a session compiles
    started = time.perf_counter()
    whole = hdp.fit(train)
    rows = [{"what": "one fit of everything", "documents": total, "seconds": time.perf_counter() - started,
             "loss": whole.logPerplexity(test)}]
    print(rows[-1], file=sys.stderr, flush=True)
    model = hdp.fit(train.filter(F.col("rank") < total // 2))
    rows.append({"what": "fit of the first half", "documents": model.summary.documents,
                 "loss": model.logPerplexity(test)})
    for night in range(nights):
        edges = [total // 2 + (total - total // 2) * at // nights for at in (night, night + 1)]
        arriving = train.filter(F.col("rank").between(edges[0], edges[1] - 1)).drop("rank")
        started = time.perf_counter()
        model = model.update(arriving)
        seconds = time.perf_counter() - started
        loss = model.logPerplexity(test) if night % 5 == 4 or night == nights - 1 else None
        rows.append({"what": f"night {night + 1}", "documents": model.summary.documents, "seconds": seconds,
                     "loss": loss})
        print(rows[-1], file=sys.stderr, flush=True)
    started = time.perf_counter()
    hdp.fit(train)
    rows.append({"what": "one fit of everything, again", "documents": total, "seconds": time.perf_counter() - started,
                 "loss": rows[0]["loss"]})
    fit_seconds = np.mean([rows[0]["seconds"], rows[-1]["seconds"]])
    night_seconds = np.median([row["seconds"] for row in rows if str(row["what"]).startswith("night")])
    rows.append({"what": "a night / one fit (seconds), after all nights − one fit (loss)",
                 "seconds": float(night_seconds / fit_seconds), "loss": rows[-2]["loss"] - rows[0]["loss"]})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--input", type=Path, required=True, help="the archive of mails that the corpus was made of")
    parser.add_argument("--nights", type=int, default=20)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    facts = context()
    dates = mail_dates(options.input)
    spark = start_session("nights benchmark", master="local[2]", settings={"spark.driver.memory": "4g"})
    try:
        corpus = open_corpus(spark, options.corpus)
        train = by_date(corpus.documents("train"), dates)
        rows = measure(train, corpus.documents("test").cache(), corpus.vocabulary, options.k, options.nights)
    finally:
        spark.stop()
    write_json(options.output / "nights.json", {**facts, "rows": rows})
    table = markdown_table(rows, ["what", "documents", "seconds", "loss"])
    (options.output / "nights.md").write_text(f"Revision {facts['revision']}, load {facts['load_at_start']}\n\n{table}")
    print(table)


if __name__ == "__main__":
    main()

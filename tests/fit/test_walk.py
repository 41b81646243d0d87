"""The walk of a document through one fit, as docs/architecture.md tells it, is the one that it takes."""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pyarrow as pa
from pyspark.sql import DataFrame

import spectral_spark
from spectral_spark import SpectralHDP
from spectral_spark.data.count_batch import CountBatch
from spectral_spark.engine.corpus import Corpus, CountedCorpus
from spectral_spark.engine.documents import DocumentFrame
from spectral_spark.engine.packing import Packing
from spectral_spark.refine.gibbs import DocumentSample

ROOT = Path(spectral_spark.__file__).parent
STANDS_IN_FOR_SPARK = "engine/spark_versions.py"
PAGE = ROOT.parent / "docs" / "architecture.md"
DOCUMENTS = (DataFrame, pa.Table, pa.RecordBatch, CountBatch, Corpus, CountedCorpus, DocumentFrame, Packing,
             DocumentSample, type(iter([])))


@contextmanager
def watched_files() -> Iterator[list[str]]:
    """Files of the package that have a function which is handed documents, in the order of their first call."""
    files: list[str] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<") or not code.co_filename.startswith(str(ROOT)):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        name = str(Path(code.co_filename).relative_to(ROOT))
        handed = any(isinstance(frame.f_locals.get(given), DOCUMENTS) for given in names)
        if handed and name not in [*files, STANDS_IN_FOR_SPARK]:
            files.append(name)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def test_the_walk_in_the_documentation_is_true(documents: DataFrame) -> None:
    estimator = SpectralHDP(
        k=5, termsCol="terms", countsCol="counts", idCol="doc_id", pathCol="path", vocabSize=300, exploreSweeps=2
    )
    with watched_files() as files:
        estimator.fit(documents.limit(300))
    walk = PAGE.read_text(encoding="utf-8").split("## The walk of a document")[1].split("\n## ")[0]
    told = re.findall(r"^\d+\. `([a-z_/]+\.py)`", walk, re.MULTILINE)
    assert told == files
    hops = sum(Path(one).parent != Path(two).parent for one, two in pairwise(files))
    assert f"It has {len(files)} files; consecutive files are in different packages {hops} times." in walk
    assert len(files) <= 25
    assert hops <= 25

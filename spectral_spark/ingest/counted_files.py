"""The files that the workers wrote while they counted, read by the driver itself where they are few.

Spark needs a second or so for every question that a shuffle answers. On a million documents NumPy answers it in a
tenth of that, so the driver decides which documents are used and which are held out, as long as it can easily hold
what that depends on. The documents themselves stay in the files.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from spectral_spark.files.paths import is_local
from spectral_spark.files.spark_paths import Workplace

MOST_ROWS = 3_000_000          # documents, and words of every task: some 100 bytes each in memory
MOST_BYTES = 1 << 30           # of all files; the driver decodes the words of documents a few row groups at a time
_DOCUMENTS = ["row", "doc_id", "path", "whole_key", "text_key", "problem", "short"]
_WORDS = ["hash", "term", "documents", "occurrences"]
_THREADS = 4

Made = TypeVar("Made")


@dataclass(frozen=True)
class CountedFiles:
    """Parquet files with rows as ``count_words.COUNTED``, and a column ``row``."""

    paths: tuple[str, ...]

    def documents(self, unnamed: str | None) -> pa.Table:
        """What is known of every document but its words; ``group`` is the first part of its path.

        Parameters
        ----------
        unnamed : what takes the place of a part that is null or empty.
        """
        return pa.concat_tables(self._of_each([*_DOCUMENTS, "term"], lambda table: _documents(table, unnamed)))

    def words(self) -> pa.Table:
        """What the workers wrote about their words."""
        return pa.concat_tables(self._of_each(_WORDS, lambda table: table.filter(table["term"].is_valid())))

    def entries(self, rows: np.ndarray, made: Callable[[pa.Table], Made]) -> list[Made]:
        """What ``made`` makes of ``row, hashes, counts`` of some documents, in parts."""
        wanted = pa.array(rows, pa.int64())
        return self._of_each(["row", "hashes", "counts"],
                             lambda table: made(table.filter(pc.is_in(table["row"], wanted))))

    def _of_each(self, columns: list[str], made: Callable[[pa.Table], Made]) -> list[Made]:
        """What ``made`` makes of an empty table and of every row group; a few of these are in memory at a time."""
        empty = pq.read_schema(self.paths[0]).empty_table().select(columns)
        groups = [(path, number) for path in self.paths for number in range(pq.read_metadata(path).num_row_groups)]

        def of_group(group: tuple[str, int]) -> Made:
            with pq.ParquetFile(group[0]) as file:
                return made(file.read_row_group(group[1], columns=columns).select(columns))

        with ThreadPoolExecutor(_THREADS) as pool:
            return [made(empty), *pool.map(of_group, groups)]


def counted_files(work: Workplace) -> CountedFiles | None:
    """The files that were counted into; None if the driver should leave them to the executors."""
    if not is_local(work.filesystem):
        return None
    listed = work.filesystem.get_file_info(fs.FileSelector(f"{work.inside}/counted"))
    paths = sorted(info.path for info in listed if info.base_name.endswith(".parquet"))
    rows = size = 0
    for path in paths:
        metadata = pq.read_metadata(path)
        rows += metadata.num_rows
        size += sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    return CountedFiles(tuple(paths)) if paths and rows <= MOST_ROWS and size <= MOST_BYTES else None


def _documents(table: pa.Table, unnamed: str | None) -> pa.Table:
    table = table.filter(table["term"].is_null()).select(_DOCUMENTS)
    paths = pa.concat_arrays([pa.array([], table.schema.field("path").type), *table["path"].chunks])
    return table.drop_columns("path").append_column("group", _first_parts(paths, unnamed))


def _first_parts(paths: pa.Array, unnamed: str | None) -> pa.Array:
    """The first part of every path, empty where there is none."""
    sizes = pc.fill_null(pc.list_value_length(paths), 0).to_numpy(zero_copy_only=False)
    parts = pc.fill_null(paths.values.take(pa.array(paths.offsets.to_numpy()[:-1][sizes > 0])), "")
    if unnamed is not None:
        parts = pc.if_else(pc.equal(parts, ""), unnamed, parts)
    return parts.take(pa.array(np.cumsum(sizes > 0) - 1, mask=sizes == 0)).fill_null("")

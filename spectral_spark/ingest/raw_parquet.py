"""Many small files, read once by the driver, into a few Parquet files that executors can share."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.archive import Member

FILE_BYTES = 16 << 20
RAW_SCHEMA = pa.schema([("name", pa.string()), ("content", pa.binary()), ("problem", pa.string())])


def compact(spark: SparkSession, members: Iterable[Member], work: Workplace) -> tuple[DataFrame, int]:
    """Write the members to ``raw/`` and open them with Spark: name, content, problem. Also says how many there are.

    Names are made unique: a second ``a/1.`` becomes ``a/1.#2``.
    """
    inside = work.create("raw")
    total = 0
    for number, rows in enumerate(_batches(_unique(members))):
        total += len(rows)
        columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), RAW_SCHEMA.types,
                                                                  strict=True)]
        table = pa.Table.from_arrays(columns, schema=RAW_SCHEMA)
        with work.filesystem.open_output_stream(f"{inside}/part-{number:05d}.parquet") as sink:
            pq.write_table(table, sink, compression="zstd", use_dictionary=False, row_group_size=4096)
    return spark.read.schema("name string, content binary, problem string").parquet(work.readable("raw")), total


def _unique(members: Iterable[Member]) -> Iterator[Member]:
    seen: dict[str, int] = {}
    for member in members:
        name = member.name
        while name in seen:
            seen[member.name] += 1
            name = f"{member.name}#{seen[member.name]}"
        seen[name] = 1
        yield member._replace(name=name)


def _batches(members: Iterable[Member]) -> Iterator[list[Member]]:
    batch: list[Member] = []
    size = 0
    for member in members:
        batch.append(member)
        size += len(member.content or b"") + len(member.name)
        if size >= FILE_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

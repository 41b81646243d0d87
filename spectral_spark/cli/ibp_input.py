"""The input of ``ibp`` as its Parquet files describe it, before Spark starts: columns, width, and constant columns."""

from argparse import Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.dataset import Dataset, dataset

from spectral_spark.data.value_types import nearest
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.directories import resolve

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ALL = "all"
_CONSTANT = 1e-10         # a column that varies less, relative to its size, is constant up to rounding


@dataclass(frozen=True)
class IbpInput:
    """Where the vectors are.

    Attributes
    ----------
    vectors : the column of vectors; for a wide table, the name of the one that is made of its columns.
    columns : the columns of numbers of a wide table; empty if there is a column of vectors.
    width : length of the vectors.
    """

    vectors: str
    columns: tuple[str, ...]
    width: int

    def __str__(self) -> str:
        if not self.columns:
            return f"the {self.width:,} columns of '{self.vectors}'"
        shown = ", ".join(self.columns[:5])
        return f"the {self.width:,} columns {shown}{' and others' if len(self.columns) > 5 else ''}"


def read_input(settings: Namespace) -> IbpInput:
    """Find the vectors; refuses what is not Parquet, unknown or unfit columns, and constant ones that footers show."""
    path, single, several = settings.input, settings.features_col, settings.features_cols
    if bool(single) == bool(several):
        raise SettingsError("give either --features-col, a column of vectors, or --features-cols, columns of numbers "
                            "(--features-cols all takes every numeric column)")
    filesystem, inside = resolve(path)
    try:
        table = dataset(inside, filesystem=filesystem, format="parquet")
        if single:
            _check_names(table.schema, [single], path, "--features-col")
            found = IbpInput(single, (), _width(table, single))
        else:
            columns = _numeric_columns(table.schema, several, settings.id_col, path)
            name = "features" if "features" not in table.schema.names else "spectral_spark_features"
            found = IbpInput(name, columns, len(columns))
        constant = [name for name in found.columns if _is_constant(table, name)]
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"--input '{path}' is not Parquet: {error}") from None
    if constant and not settings.drop_constant:
        raise InputError(
            f"constant values in {_named(constant)}; they carry no information and contradict noise of equal variance; "
            "leave them out, or pass --drop-constant"
        )
    return found


def _check_names(schema: pa.Schema, names: list[str], path: str, flag: str) -> None:
    for name in names:
        if name not in schema.names:
            raise InputError(f"{flag}: there is no column '{name}' in '{path}'; it has "
                             f"{', '.join(schema.names)}{nearest(name, schema.names)}")


def _numeric_columns(schema: pa.Schema, asked: list[str], id_col: str | None, path: str) -> tuple[str, ...]:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    numeric = [field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)]
    if asked == [ALL]:
        names = [name for name in numeric if name != id_col]
        if not names:
            raise InputError(f"--features-cols all: no column of '{path}' is numeric; it has {', '.join(schema.names)}")
        return tuple(names)
    _check_names(schema, asked, path, "--features-cols")
    for name in asked:
        if name not in numeric:
            raise InputError(f"--features-cols: column '{name}' is {schema.field(name).type}, not a number; use "
                             "--features-col for a column of vectors")
    if len(set(asked)) < len(asked):
        raise SettingsError("--features-cols names a column twice")
    return tuple(asked)


def _width(table: Dataset, column: str) -> int:
    """Length of the vectors, from the first row."""
    first = table.head(1, columns=[column]).to_pylist()
    value = first[0][column] if first else None
    if isinstance(value, dict):                            # a pyspark.ml Vector; a dense one has no size
        value = [0] * value["size"] if value.get("size") else value.get("values")
    return max(len(value), 1) if isinstance(value, list) else 1


def _is_constant(table: Dataset, column: str) -> bool:
    """Whether the footers of all files say that a column has one value, and no other."""
    values = set()
    for fragment in table.get_fragments():
        position = fragment.physical_schema.get_field_index(column)
        metadata = fragment.metadata
        if position < 0 or metadata.num_columns != len(fragment.physical_schema):
            return False                                   # nested columns: leaves and fields do not correspond
        for group in range(metadata.num_row_groups):
            found = metadata.row_group(group).column(position).statistics
            if found is None or not found.has_min_max or found.null_count:
                return False
            values |= {found.min, found.max}
        if len(values) > 1:
            return False
    return len(values) == 1


def vectors_of(rows: "DataFrame", given: IbpInput, *, drop_constant: bool) -> "tuple[DataFrame, list[str]]":
    """The rows with their column of vectors, without those of ``columns``, and the names of the columns dropped."""
    from pyspark.sql import functions as F

    columns = list(given.columns)
    if columns:
        numbers = [F.col(f"`{name}`").cast("double") for name in columns]
        rows = rows.withColumn(given.vectors, F.array(*numbers)).drop(*columns)
    if not drop_constant:
        return rows, []
    constant = _constant_entries(rows, given.vectors)
    kept = [entry for entry in range(given.width) if entry not in constant]
    if not kept:
        raise InputError("all columns are constant; there is nothing to find")
    if constant:
        array = _as_array(rows, given.vectors)
        rows = rows.withColumn(given.vectors, F.array(*(F.get(array, F.lit(entry)) for entry in kept)))
    return rows, [columns[entry] if columns else str(entry) for entry in sorted(constant)]


def same_vectors(rows: "DataFrame", name: str, width: int, found: dict[str, Any], path: str) -> "DataFrame":
    """Further rows with vectors like those of a fit, whose summary says which columns or entries they have."""
    from pyspark.sql import functions as F

    columns, dropped = found.get("columns") or [], {int(entry) for entry in found.get("dropped") or []}
    if columns:
        absent = [column for column in columns if column not in rows.columns]
        if absent:
            raise InputError(f"there is no {_named(absent)} in '{path}'; the model was fitted to it")
        return rows.withColumn(name, F.array(*(F.col(f"`{column}`").cast("double") for column in columns)))
    if name not in rows.columns:
        raise InputError(f"there is no column '{name}' in '{path}', where the model has its vectors; it has "
                         f"{', '.join(rows.columns)}")
    if not dropped:
        return rows
    array, kept = _as_array(rows, name), [entry for entry in range(width + len(dropped)) if entry not in dropped]
    return rows.withColumn(name, F.array(*(F.get(array, F.lit(entry)) for entry in kept)))


def _as_array(rows: "DataFrame", name: str) -> Any:
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType

    column = F.col(f"`{name}`")
    return column if isinstance(rows.schema[name].dataType, ArrayType) else vector_to_array(column)


def _constant_entries(rows: "DataFrame", name: str) -> set[int]:
    """One pass over the rows: the entries of the vectors that never vary, missing values apart."""
    from pyspark.sql import functions as F

    entries = rows.select(F.posexplode(_as_array(rows, name).cast("array<double>")).alias("entry", "value"))
    present = entries.filter(F.col("value").isNotNull() & ~F.isnan("value"))
    ends = present.groupBy("entry").agg(F.min("value").alias("least"), F.max("value").alias("most")).collect()
    return {row["entry"] for row in ends if row["most"] - row["least"] <= _CONSTANT * abs(row["most"])}


def _named(columns: list[str], shown: int = 5) -> str:
    names = ", ".join(f"'{name}'" for name in columns[:shown])
    more = f" and {len(columns) - shown} more" if len(columns) > shown else ""
    return f"column{'s' if len(columns) > 1 else ''} {names}{more}"

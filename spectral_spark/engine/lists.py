"""List columns of Arrow as flat NumPy arrays."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def flat_lists(column: pa.Array | pa.ChunkedArray, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """All values of a list column (nulls as NaN, or −1 for whole numbers), and where each row's values start.

    A null list is an empty one. Returns arrays of shapes (values,) and (rows + 1,).
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    flat = array.flatten()
    if flat.null_count:
        flat = pc.fill_null(flat, float("nan") if dtype is np.float64 else -1)
    return flat.to_numpy(zero_copy_only=False).astype(dtype), np.concatenate(([0], np.cumsum(lengths)))

"""Numbers and text on their way into the page: small, and unable to end the script block they sit in."""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

# "<", ">" and "&" cannot open or close anything in HTML once escaped; the two separators end lines in old JavaScript.
_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def script_json(value: Any) -> str:
    """JSON that may stand inside a ``<script>`` element whatever its strings contain."""
    text = json.dumps(finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.translate(_ESCAPES)
    return text.encode("utf-8", "replace").decode()      # a lone surrogate has no UTF-8 form


def finite(value: Any) -> Any:
    """The same value with NumPy scalars as Python ones and everything that is not a finite number as None."""
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def packed(array: np.ndarray, dtype: str) -> str:
    """Base64 of the array's little-endian bytes; the page reads it as a typed array."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()).decode()


def quantised(shares: np.ndarray, dtype: str) -> str:
    """Shares in [0, 1] as whole numbers from 0 to the largest of the unsigned type, packed."""
    top = np.iinfo(dtype).max
    return packed(np.rint(np.clip(np.nan_to_num(shares), 0.0, 1.0) * top), dtype)

"""Values on their way to the workers of a Spark Connect server, which has no broadcasts.

A small value travels inside the function that uses it. The plan that carries such functions is one message of at most
128 MB, so the arrays of a larger value go ahead as a file of the session, in small chunks, and workers map that file
into their memory. The file holds bare numbers: types, shapes and all the rest of the value travel in the function.
"""

import copy
import hashlib
import mmap
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from pyspark.sql import SparkSession

Value = TypeVar("Value")
INSIDE_BYTES = 4 << 20           # arrays that travel inside the function
_ALIGNMENT = 64
_OURS = __name__.partition(".")[0]
_uploaded: "WeakKeyDictionary[Any, set[str]]" = WeakKeyDictionary()        # names of files, by session
_mapped: dict[str, memoryview] = {}     # in a worker: the file that it used last


class UploadedValue(Generic[Value]):
    """A value that functions on workers get by calling this object.

    The file lives on the server as long as the session; a value whose arrays were uploaded before is not sent again.
    """

    def __init__(self, spark: SparkSession, value: Value) -> None:
        bare, arrays = taken_apart(value)
        self._value: Value | None = value
        self._name, self._bare = "", None
        if sum(array.nbytes for array in arrays) > INSIDE_BYTES:
            self._bare, self._name = bare, _upload(spark, arrays)

    def __call__(self) -> Value:
        if self._value is None:
            value: Value = put_together(self._bare, _file(self._name))
            self._value = value
        return self._value

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | ({"_value": None} if self._name else {})


def _file(name: str) -> memoryview:
    """The content of an uploaded file, mapped into the memory of this worker.

    Only the bytes are kept for the next task. Another value may have the same arrays and differ in everything else.
    """
    from pyspark import SparkFiles

    if name not in _mapped:
        _mapped.clear()                                     # the arrays of an earlier pass are no longer needed
        with open(SparkFiles.get(name), "rb") as file:
            _mapped[name] = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return _mapped[name]


@dataclass(frozen=True)
class _Place:
    """Where an array stands in the file."""

    start: int
    kind: str
    shape: tuple[int, ...]
    order: str

    def read(self, data: memoryview) -> np.ndarray:
        size = int(np.prod(self.shape))
        if not size:
            return np.zeros(self.shape, self.kind)
        flat: np.ndarray = np.frombuffer(data, self.kind, size, self.start)
        return flat.reshape(self.shape, order="F" if self.order == "F" else "C")


def taken_apart(value: Any) -> tuple[Any, list[np.ndarray]]:
    """The value with places instead of arrays, and the bytes of these arrays in the order of their places."""
    arrays: list[np.ndarray] = []
    end = 0

    def take(leaf: Any) -> Any:
        nonlocal end
        if not isinstance(leaf, np.ndarray) or leaf.dtype.hasobject:
            return leaf
        order = "F" if leaf.flags.f_contiguous and not leaf.flags.c_contiguous else "C"
        place = _Place(end, leaf.dtype.str, leaf.shape, order)
        arrays.append(leaf.ravel(order="F" if order == "F" else "C").view(np.uint8))
        end += _room(arrays[-1])
        return place

    return _with_leaves(value, take), arrays


def put_together(bare: Any, data: memoryview) -> Any:
    """The value that was taken apart, its arrays in ``data``."""
    return _with_leaves(bare, lambda leaf: leaf.read(data) if isinstance(leaf, _Place) else leaf)


def _with_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same value with other leaves; dicts, lists, tuples and objects of this package are no leaves."""
    if isinstance(value, dict):
        return {name: _with_leaves(item, change) for name, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_with_leaves(item, change) for item in value)
    ours = type(value).__module__.partition(".")[0] == _OURS and hasattr(value, "__dict__")
    if isinstance(value, _Place) or not ours:
        return change(value)
    changed = copy.copy(value)
    for name, item in vars(changed).items():
        object.__setattr__(changed, name, _with_leaves(item, change))      # frozen dataclasses as well
    return changed


def _room(array: np.ndarray) -> int:
    """Bytes that an array takes in the file."""
    return -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT


def _upload(spark: SparkSession, arrays: Sequence[np.ndarray]) -> str:
    """Send the arrays as a file that is named after its content; the name."""
    content = hashlib.sha256(repr([array.nbytes for array in arrays]).encode())
    for array in arrays:
        content.update(array.data)
    name = f"spectral-{content.hexdigest()[:40]}.bin"
    sent = _uploaded.setdefault(spark, set())
    if name in sent:
        return name
    folder = tempfile.mkdtemp(prefix="spectral-spark-")
    path = os.path.join(folder, name)
    try:
        with open(path, "wb") as sink:
            for array in arrays:
                sink.write(array.data)
                sink.write(bytes(_room(array) - array.nbytes))
        spark.addArtifacts(path, file=True)
        sent.add(name)
    finally:
        with suppress(OSError):
            os.unlink(path)
            os.rmdir(folder)
    return name

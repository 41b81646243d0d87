"""Values that executors need for as long as a lazy DataFrame may be evaluated."""

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame

from spectral_spark.engine.uploaded_value import UploadedValue

Thing = TypeVar("Thing")
_held: "WeakKeyDictionary[Any, tuple[str, Any]]" = WeakKeyDictionary()


def hold(frame: DataFrame, thing: Thing) -> Callable[[], Thing]:
    """How a function on an executor gets ``thing``: one broadcast for it and the running application, which Spark frees
    when ``thing`` and every DataFrame that uses it are gone. Under Spark Connect it travels in the function that uses
    it, or ahead of it (see ``engine.uploaded_value``)."""
    context = getattr(frame.sparkSession, "_sc", None)
    if context is None:
        return UploadedValue(frame.sparkSession, thing)
    application, broadcast = _held.get(thing, ("", None))
    if application != context.applicationId:
        broadcast = context.broadcast(thing)
        _held[thing] = (context.applicationId, broadcast)
    return lambda: broadcast.value

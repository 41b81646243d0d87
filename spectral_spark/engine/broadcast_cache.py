"""Values that executors need for as long as a lazy DataFrame may be evaluated."""

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame

Thing = TypeVar("Thing")
_held: "WeakKeyDictionary[Any, tuple[str, Any]]" = WeakKeyDictionary()


def hold(frame: DataFrame, thing: Thing) -> Callable[[], Thing]:
    """How a function on an executor gets ``thing``: one broadcast for it and the running application, which Spark frees
    when ``thing`` and every DataFrame that uses it are gone. Under Spark Connect it travels in the closure."""
    context = getattr(frame.sparkSession, "_sc", None)
    if context is None:
        return lambda: thing
    application, broadcast = _held.get(thing, ("", None))
    if application != context.applicationId:
        broadcast = context.broadcast(thing)
        _held[thing] = (context.applicationId, broadcast)
    return lambda: broadcast.value

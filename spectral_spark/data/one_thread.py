"""Linear algebra on one thread: the number of BLAS threads changes how sums are rounded.

``threadpool_limits.wrap`` is not used instead. In older versions of threadpoolctl it looks the libraries up when the
function is defined and misses those that are loaded later; and it is untyped, so mypy would no longer check callers.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def one_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make the result of a function independent of the number of cores, bit for bit."""

    @wraps(function)
    def alone(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with threadpool_limits(1):
            return function(*args, **kwargs)

    return alone

"""Linear algebra on one thread of the driver: how many share a product decides how its sums are rounded."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def one_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make the bits of what a function returns independent of the number of cores."""

    @wraps(function)
    def alone(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with threadpool_limits(1):
            return function(*args, **kwargs)

    return alone

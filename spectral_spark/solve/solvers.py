"""One entry point for the solvers."""

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.solve.als import als
from spectral_spark.solve.implicit import implicit
from spectral_spark.solve.polar import polar
from spectral_spark.solve.power import power
from spectral_spark.solve.printed import PRINTED
from spectral_spark.solve.sketch import sketch
from spectral_spark.solve.symmetric_tensor import Contraction
from spectral_spark.solve.tensor_decomposition import TensorDecomposition

SOLVERS: Mapping[str, Callable[..., TensorDecomposition]] = MappingProxyType(
    {"polar": polar, "power": power, "als": als, "sketch": sketch, "implicit": implicit}
)
FROM_DOCUMENTS = ("implicit", "sketch")        # third moments that were not collected, from documents
AUTO = "auto"                   # polar, or implicit where third moments were not collected


def check_solver(solver: str) -> None:
    if solver not in SOLVERS:
        raise SettingsError(f"solver: {solver!r} is unknown; choose one of {', '.join(SOLVERS)}")


def check_options(solver: str, options: Mapping[str, Any], printed: bool = False) -> None:
    """Refuse options that the solver does not have, and counts and lengths below one."""
    function = _function(solver, printed)
    known = [name for name in inspect.signature(function).parameters if name not in ("tensor", "seed")]
    for name, value in options.items():
        if name not in known:
            raise SettingsError(f"solver {solver} has no option {name!r}; it has {', '.join(known)}")
        if value is not None and not isinstance(value, int | float | np.number):
            raise SettingsError(f"solver {solver}: {name} = {value!r} is not a number; pass one")
        lowest = 0 if name in ("tolerance", "settled", "polish", "orthogonal_iterations", "anywhere") else 1
        if value is not None and not value >= lowest:
            raise SettingsError(f"solver {solver}: {name} = {value!r} is too small; pass {lowest} or more")


def _function(solver: str, printed: bool) -> Callable[..., TensorDecomposition]:
    return PRINTED.get(solver, SOLVERS[solver]) if printed else SOLVERS[solver]


def solver_for(solver: str, third_collected: bool) -> str:
    """The solver that a setting stands for. If the third moment was not collected, ``implicit`` and ``sketch`` take it
    from documents; the others cannot."""
    if solver == AUTO:
        return "polar" if third_collected else "implicit"
    check_solver(solver)
    if not third_collected and solver not in FROM_DOCUMENTS:
        raise InputError(
            f"solver {solver} needs the third moment, which `solver=implicit` does not collect; solve with "
            f"`solver=implicit`, or fit again with `solver={solver}`"
        )
    return solver


def solve_tensor(
    tensor: np.ndarray | Contraction, solver: str = "polar", seed: int = 0, *, printed: bool = False, **options: Any
) -> TensorDecomposition:
    """Decompose a whitened (k, k, k) tensor; ``options`` are those of the solver's own function.

    A tensor that is known by its products alone can be given to ``implicit`` only, or to ``sketch`` as its sketches.
    ``printed`` takes power, als and sketch as their papers print them; the other solvers are ours alone.

    One BLAS thread, so that the same input gives the same bits on every machine of one kind.

    Examples
    --------
    >>> import numpy as np
    >>> diagonal = np.zeros((2, 2, 2))
    >>> diagonal[0, 0, 0], diagonal[1, 1, 1] = 3.0, 2.0
    >>> solve_tensor(diagonal).eigenvalues.round(6).tolist()
    [3.0, 2.0]
    """
    check_solver(solver)
    check_options(solver, options, printed)
    with threadpool_limits(1):
        return _function(solver, printed)(tensor, seed=seed, **options)

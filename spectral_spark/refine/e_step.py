"""Which E-step runs: the compiled one where numba is installed, the NumPy one elsewhere."""

from functools import cache
from importlib.util import find_spec
from typing import Protocol

import numpy as np

from spectral_spark.errors import SettingsError

BACKENDS = ("auto", "numba", "numpy")


class EStep(Protocol):
    """Variational E-step of some documents: θ ← exp(ψ(γ)), γ = prior + expected counts, from the prior's mean.

    Parameters
    ----------
    indptr : int64 array of shape (n + 1,); slots, counts : arrays of shape (nnz,), rows of ``rows`` and their counts.
    nodes : int array of shape (n,), the tree node of each document.
    rows : array of shape (words, k), positive: the topics' probabilities of the words in use.
    node_prior : array of shape (nodes, k), rows sum to one; concentration : array of shape (nodes,). A document of
        node v has the prior concentration[v] · node_prior[v].
    iterations : inner iterations.
    statistics : array of shape (words, k); gains the expected topic-word counts.
    node_counts : array of shape (nodes, k); gains every document's topic proportions.
    node_tables : array of shape (nodes, k); gains α(ψ(α + n) − ψ(α)), the expected number of draws from the node that
        explain a document's n words of a topic.
    """

    def __call__(
        self, indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, nodes: np.ndarray, rows: np.ndarray,
        node_prior: np.ndarray, concentration: np.ndarray, iterations: int,
        statistics: np.ndarray, node_counts: np.ndarray, node_tables: np.ndarray,
    ) -> None: ...


def backend_in_use(backend: str = "auto") -> str:
    """``numba`` or ``numpy``."""
    if backend not in BACKENDS:
        raise SettingsError(f"backend: '{backend}' is unknown; use one of {', '.join(BACKENDS)}")
    if backend == "auto":
        return "numba" if find_spec("numba") else "numpy"
    return backend


@cache
def choose_e_step(backend: str = "auto") -> EStep:
    """The E-step of a backend; numba compiles it at its first call in a process."""
    if backend_in_use(backend) == "numba":
        from spectral_spark.refine import compiled

        return compiled.e_step
    from spectral_spark.refine import vectorised

    return vectorised.e_step

"""Chooses the inner loops: compiled if numba is installed, NumPy otherwise."""

from functools import cache
from importlib.util import find_spec
from typing import Protocol, cast

import numpy as np

from spectral_spark.errors import SettingsError

BACKENDS = ("auto", "numba", "numpy")


class Backend(Protocol):
    """Documents come as compressed rows: indptr int64 (n + 1,), slots int64 (nnz,) into the rows of ``rows`` and
    counts float64 (nnz,), all of them writable arrays, so that numba compiles once."""

    def e_step(
        self, indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, nodes: np.ndarray, rows: np.ndarray,
        means: np.ndarray, concentration: np.ndarray, weights: np.ndarray, iterations: int,
        statistics: np.ndarray, node_counts: np.ndarray, node_tables: np.ndarray,
    ) -> None:
        """Variational E-step: θ ← exp(ψ(γ)), γ = prior + expected counts, starting from the prior's mean.

        Parameters
        ----------
        nodes : int64 array of shape (n,), the tree node of each document.
        rows : array of shape (words, k), positive: the topics' probabilities of the words in use.
        means : array of shape (n, k), rows sum to one; concentration : array of shape (n,). The prior of document d
            is concentration[d] · means[d].
        weights : array of shape (n,), weight of a document in ``statistics``; the other sums are unweighted.
        iterations : inner iterations.
        statistics : array of shape (words, k); gains the expected topic-word counts.
        node_counts : array of shape (nodes, k); gains every document's topic proportions.
        node_tables : array of shape (nodes, k); gains α(ψ(α + n) − ψ(α)), the expected number of draws from the node
            that explain a document's n words of a topic.
        """

    def infer(
        self, indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, rows: np.ndarray, prior: np.ndarray,
        iterations: int,
    ) -> np.ndarray:
        """Posterior-mean proportions (n, k) under priors of shape (n, k)."""

    def sweep(
        self, indptr: np.ndarray, words: np.ndarray, topics: np.ndarray, nodes: np.ndarray, weights: np.ndarray,
        prior: np.ndarray, likelihood: np.ndarray, first: int, last: int, seed: np.uint64, cold: bool,
        counts: np.ndarray, tables: np.ndarray, streams: np.ndarray | None = None,
    ) -> None:
        """Gibbs sampling: draw the topic of every word of the documents ``first`` to ``last`` once more.

        Parameters
        ----------
        indptr : int64 array of shape (n + 1,); words : int32 array of shape (tokens,) into the rows of ``likelihood``.
        topics : int32 array of shape (tokens,), the topics of the previous sweep, replaced by the new ones.
        nodes : int32 array of shape (n,); documents of one node in a row are swept faster.
        weights : int64 array of shape (n,), the amount that a word of a document adds to ``counts``.
        prior : int64 array of shape (nodes, k), positive, in units of 1 / PRIOR_STEPS.
        likelihood : uint16 array of shape (words, k), LIKELIHOOD_STEPS at the largest of a row.
        seed : random seed of this sweep.
        cold : True if no topics were drawn before.
        counts : int64 or uint32 array of shape (words, k), gains the words by topic.
        tables : int64 array of shape (nodes, k), gains every document's expected number of draws from its node in
            units of 1 / FIXED_POINT.
        streams : uint64 array of shape (n,), the random numbers of each document; by default, its position.
        """


def backend_name(choice: str = "auto") -> str:
    """``numba`` or ``numpy``."""
    if choice not in BACKENDS:
        raise SettingsError(f"refinement: backend '{choice}' is unknown; use one of {', '.join(BACKENDS)}")
    if choice == "auto":
        return "numba" if find_spec("numba") else "numpy"
    return choice


@cache
def load_backend(choice: str = "auto") -> Backend:
    """The loops of a backend; numba compiles each at its first call in a process."""
    if backend_name(choice) == "numba":
        if not find_spec("numba"):
            raise SettingsError("refinement: the driver has numba, this worker has not; install it there too")
        from spectral_spark.refine import backend_numba

        return cast(Backend, backend_numba)
    from spectral_spark.refine import backend_numpy

    return cast(Backend, backend_numpy)

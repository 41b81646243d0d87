"""The result of a solve: topics, their proportions at the root and at every node, and how they were found."""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_spark.errors import InputError
from spectral_spark.moments.coefficients import HDPCoefficients
from spectral_spark.solve.rank import RankChoice
from spectral_spark.solve.reconstruct import project_on_simplex
from spectral_spark.solve.tensor_decomposition import TensorDecomposition
from spectral_spark.solve.whitening import Whitening


@dataclass(frozen=True, eq=False)
class TopicSolution:
    """Topics found from one set of moments.

    Attributes
    ----------
    topics : array of shape (d, k), Φ, columns non-negative with sum one, the heaviest topic first. Contains zeros:
        smooth with ``reconstruct.smoothed_topics`` before any likelihood.
    weights : array of shape (k,), π0, summing to one.
    decomposition : the solver's result, columns in the order of the topics.
    rank : the number of topics with the spectrum and the reason.
    coefficients : C2 … C6 the moments were read with.
    concentrations : the numbers behind them, the documents' last; None when coefficients were passed directly.
    whitening : W, its dual and the spectrum of S2.
    sums : array of shape (k,), the sum over words of each lifted column (W†)ᵀv_i; √(C3 π0_i) for exact moments.
    notes : remarks for the user, for example that the solver did not converge.
    per_group : whether tensors per group were decomposed, instead of that of the root.
    """

    topics: np.ndarray
    weights: np.ndarray
    decomposition: TensorDecomposition
    rank: RankChoice
    coefficients: HDPCoefficients
    concentrations: tuple[float, ...] | None
    whitening: Whitening
    sums: np.ndarray
    notes: tuple[str, ...] = ()
    per_group: bool = False

    @property
    def k(self) -> int:
        """The number of topics."""
        return self.topics.shape[1]

    @property
    def condition(self) -> float:
        """The largest over the smallest eigenvalue of S2 that was kept."""
        return self.whitening.condition


def node_proportions(node_first: np.ndarray, solution: TopicSolution) -> np.ndarray:
    """Proportions of the topics at every tree node.

    In the whitened basis the topics are orthogonal, so least squares is one product. The result is projected on the
    simplex in the same distance, in which topic i has the inverse square of its sum as weight (formulas §4).

    Parameters
    ----------
    node_first : array of shape (nodes, p), the mean of Bᵀc/m over the documents of each node.

    Returns
    -------
    Array of shape (nodes, k), non-negative rows with sum one.
    """
    node_first = np.asarray(node_first, dtype=np.float64)
    p = len(solution.whitening.matrix)
    if node_first.ndim != 2 or node_first.shape[1] != p:
        raise InputError(f"node moments: shape {node_first.shape} is not (nodes, {p}); use the basis of the solution")
    wrong = ~np.isfinite(node_first).all(axis=1)
    if wrong.any():
        raise InputError(
            f"node moments: node {int(np.flatnonzero(wrong)[0])} ({int(wrong.sum())} in all) is not finite; "
            "leave out nodes without documents"
        )
    with threadpool_limits(1):
        coordinates = node_first @ solution.whitening.matrix @ np.linalg.pinv(solution.decomposition.vectors).T
        return project_on_simplex(coordinates * solution.sums, solution.sums**2)

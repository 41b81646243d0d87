"""The bounds that are reported with a fit: on moments, and on topics and weights (formulas §7 and §20)."""

from typing import Any

import numpy as np

from spectral_spark.moments.moment_state import MomentState
from spectral_spark.solve.reconstruction_bounds import ReconstructionBounds, reconstruction_bounds
from spectral_spark.solve.topic_solution import TopicSolution
from spectral_spark.tree.bounds import independent_groups, moment_bound, tensor_bound, third_tensor_bound


def error_bounds(moments: MomentState, solution: TopicSolution, delta: float) -> dict[str, Any]:
    """Bounds by name, each holding with probability 1 − delta.

    ``moments``, ``tensor`` and ``third_tensor`` are the distances of M_r, S2 and S3 to what they would be with
    infinitely many documents of the same groups; ``root_moments``, ``root_tensor`` and ``root_third_tensor`` those to
    the expectation over new groups. ``reconstruction`` holds the bounds on weights and topics that follow from the
    last two, or what they lack: errors of S2 are compared with ``smallest_eigenvalue``, the k-th of S2 over words.
    ``independent_documents`` and ``independent_groups`` are the sample sizes behind them.
    """
    weights, census, c = moments.weights, moments.census, solution.coefficients
    realised, groups = weights.realised_sample_size(census), independent_groups(census, weights)
    second, third = tensor_bound(groups, delta), third_tensor_bound(groups, c.c2, c.c4, c.c5, delta)
    return {
        "delta": delta,
        "independent_documents": realised,
        "independent_groups": groups,
        "moments": moment_bound(realised, delta),
        "tensor": tensor_bound(realised, delta),
        "third_tensor": third_tensor_bound(realised, c.c2, c.c4, c.c5, delta),
        "root_moments": moment_bound(groups, delta),
        "root_tensor": second,
        "root_third_tensor": third,
        "smallest_eigenvalue": smallest_eigenvalue(moments, solution),
        "reconstruction": _reconstruction(moments, solution, second, third),
    }


def smallest_eigenvalue(moments: MomentState, solution: TopicSolution) -> float:
    """The k-th eigenvalue of S2 over words, without the scaling of the basis."""
    lifted = moments.basis.lift @ solution.whitening.dual
    return float(max(np.linalg.eigvalsh(lifted.T @ lifted)[0], 0.0))


def _reconstruction(moments: MomentState, solution: TopicSolution, second: float, third: float) -> dict[str, Any]:
    """The theorems on weights and topics: the largest errors that they leave, None where they say nothing."""
    if solution.per_group:
        return {"missing": "they are about moments of the root, and tensors per group were decomposed"}
    found = reconstruction_bounds(solution, moments.basis.projection, second, third)
    return {
        "whitening": found.whitening, "whitened_tensor": found.tensor, "smallest_tensor_eigenvalue": found.smallest,
        "weights": None if found.weights is None else _largest_error(found, solution),
        "topics": None if found.topics is None else float(found.topics.max()), "missing": found.missing,
    }


def _largest_error(found: ReconstructionBounds, solution: TopicSolution) -> float:
    assert found.weights is not None
    measured = (solution.coefficients.kappa / solution.decomposition.eigenvalues) ** 2
    return float(np.abs(found.weights - measured[:, None]).max())

"""The bounds that are reported with a fit, and what the theorems on reconstructed topics would need (formulas §7)."""

import numpy as np

from spectral_spark.moments.moment_state import MomentState
from spectral_spark.solve.topic_solution import TopicSolution
from spectral_spark.tree.bounds import independent_groups, moment_bound, tensor_bound, third_tensor_bound


def error_bounds(moments: MomentState, solution: TopicSolution, delta: float) -> dict[str, float]:
    """Bounds by name, each holding with probability 1 − delta.

    ``moments``, ``tensor`` and ``third_tensor`` are the distances of M_r, S2 and S3 to what they would be with
    infinitely many documents of the same groups; ``root_moments`` that of M_r to the expectation over new groups.
    Whitening, and with it any bound on topics, needs an error of S2 below half of ``smallest_eigenvalue``, the k-th
    of S2 over words.
    """
    weights, census, c = moments.weights, moments.census, solution.coefficients
    realised = weights.realised_sample_size(census)
    return {
        "delta": delta,
        "moments": moment_bound(realised, delta),
        "tensor": tensor_bound(realised, delta),
        "third_tensor": third_tensor_bound(realised, c.c2, c.c4, c.c5, delta),
        "root_moments": moment_bound(independent_groups(census, weights), delta),
        "smallest_eigenvalue": smallest_eigenvalue(moments, solution),
    }


def smallest_eigenvalue(moments: MomentState, solution: TopicSolution) -> float:
    """The k-th eigenvalue of S2 over words, without the scaling of the basis."""
    lifted = moments.basis.lift @ solution.whitening.dual
    return float(max(np.linalg.eigvalsh(lifted.T @ lifted)[0], 0.0))

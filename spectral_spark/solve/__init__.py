"""Topics and their proportions from the moments of a corpus. NumPy only.

Everything here runs on the driver, in seconds, without touching the documents again: any number of topics, any
concentrations and any solver can be tried on the same moments.

=============  ==============================================  =======================================
symbol         meaning                                         name
=============  ==============================================  =======================================
M1, M2, M3     moments of the words, in a basis of p columns   ``ProjectedMoments.first, second, third``
C2 … C6        coefficients of the tree's concentrations       ``HDPCoefficients.c2 … c6``
S2, S3         corrected moments, C3 Σ π φ², C6 Σ π φ³         ``CorrectedMoments.second, third_in``
W, W†ᵀ         whitening, WᵀS2W = I, and its dual              ``Whitening.matrix, dual``
T              S3(W, W, W), nearly orthogonal                  ``tensor``
λ, v           eigenvalues and vectors of T                    ``TensorDecomposition.eigenvalues, vectors``
Φ              topics, shape (d, k), columns sum to one        ``TopicSolution.topics``
π0             proportions of the topics at the root           ``TopicSolution.weights``
π_v            proportions at tree node v                      ``node_proportions``
X2, X3, J3     moments between documents of one group          ``GroupAverages.second, third, mixed``
τ              noise floor of the spectrum of S2               ``RankChoice.noise_floor``
=============  ==============================================  =======================================
"""

from spectral_spark.solve.solvers import SOLVERS, solve_tensor
from spectral_spark.solve.tensor_decomposition import TensorDecomposition
from spectral_spark.solve.topic_solution import TopicSolution, node_proportions
from spectral_spark.solve.topics_from_moments import solve_topics

__all__ = [
    "SOLVERS",
    "TensorDecomposition",
    "TopicSolution",
    "node_proportions",
    "solve_tensor",
    "solve_topics",
]

"""Topic proportions of documents under a fitted model: what transform, scoring and evaluation use."""

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.backend import load_backend


def infer(
    batch: CountBatch, topics: np.ndarray, node_prior: np.ndarray, concentration: float | np.ndarray,
    iterations: int = 50, backend: str = "auto",
) -> np.ndarray:
    """Posterior-mean topic proportions.

    Parameters
    ----------
    batch : n documents.
    topics : array of shape (d, k), positive, columns sum to one.
    node_prior : array of shape (nodes, k), the proportions of every tree node.
    concentration : of documents around their node, one for all or an array of shape (nodes,).
    iterations : fixed-point iterations of θ ← (expected counts + prior) / their sum.

    Returns
    -------
    array of shape (n, k), rows sum to one; a document without words has its node's proportions.
    """
    totals = np.broadcast_to(np.asarray(concentration, dtype=float), (len(node_prior),))
    prior = totals[batch.nodes, None] * node_prior[batch.nodes]
    terms, slots = np.unique(batch.terms, return_inverse=True)
    rows = np.ascontiguousarray(topics[terms], dtype=float)
    counts = np.array(batch.counts, dtype=float)
    return load_backend(backend).infer(batch.indptr.astype(np.int64), slots, counts, rows, prior, iterations)

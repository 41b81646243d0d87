"""Topic proportions of documents under a fitted model: what transform, scoring and evaluation use."""

import numpy as np
import scipy.sparse as sp

from spectral_spark.moments.batch import CountBatch
from spectral_spark.refine.e_step import backend_in_use


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
    prior = np.broadcast_to(np.asarray(concentration, dtype=float), (len(node_prior),))[:, None] * node_prior
    if backend_in_use(backend) == "numba":
        from spectral_spark.refine import compiled

        theta = np.empty((batch.n_documents, topics.shape[1]))
        compiled.infer(
            batch.indptr.astype(np.int64), batch.terms, batch.counts, batch.nodes,
            np.ascontiguousarray(topics, dtype=float), prior, iterations, theta,
        )
        return theta
    return _infer_vectorised(batch, topics, prior, iterations)


def _infer_vectorised(batch: CountBatch, topics: np.ndarray, prior: np.ndarray, iterations: int) -> np.ndarray:
    alpha = prior[batch.nodes]
    theta = alpha / alpha.sum(axis=1, keepdims=True)
    owner = np.repeat(np.arange(batch.n_documents), np.diff(batch.indptr))
    terms, slots = np.unique(batch.terms, return_inverse=True)
    rows = np.ascontiguousarray(topics[terms], dtype=float)
    words = rows[slots]
    shape = (batch.n_documents, len(terms))
    for _ in range(iterations):
        ratio = batch.counts / np.einsum("ij,ij->i", words, theta[owner])
        theta = theta * (sp.csr_matrix((ratio, slots, batch.indptr), shape=shape) @ rows) + alpha
        theta /= theta.sum(axis=1, keepdims=True)
    return theta

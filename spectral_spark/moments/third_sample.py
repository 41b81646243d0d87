"""A sample of documents that stands for all of them in third moments, where these are too large to be collected."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.errors import InputError
from spectral_spark.moments.projection import prepared
from spectral_spark.tree.weights import NodeWeights, document_weights


@dataclass(frozen=True, eq=False)
class ThirdSample:
    """Capped word counts of n documents, and their weights.

    Attributes
    ----------
    counts : sparse array of shape (n, d), c.
    weights : array of shape (n,), w3 = η/(m(m−1)(m−2)), η summing to one.
    """

    counts: sp.csr_matrix
    weights: np.ndarray

    @classmethod
    def of(cls, documents: CountBatch, cap: int | None, weights: NodeWeights) -> "ThirdSample":
        """The documents of a batch; their nodes are those of ``weights``."""
        used, _ = prepared(documents, documents.vocab_size, cap)
        if not used.n_documents:
            raise InputError("no document of the sample has three words; fit more or longer documents")
        own = document_weights(weights.factor, weights.by_length, used.nodes, used.lengths)
        m = used.lengths
        return cls(used.matrix.tocsr(), own / own.sum() / (m * (m - 1.0) * (m - 2.0)))

    @property
    def documents(self) -> int:
        return int(self.counts.shape[0])

"""Document weights that balance groups of different sizes in sampling and refinement (formulas §7)."""

import numpy as np

from spectral_spark.errors import SettingsError
from spectral_spark.tree.census import Census

WEIGHT_STEPS = 64            # weights are multiples of 1/64: sums of them are exact, in any order
MOST_TIMES = 16.0            # caps a document's weight relative to the largest group: tiny groups cannot dominate


def group_weights(census: Census, balance: float) -> np.ndarray:
    """Weight of a document of each node: w ∝ (documents of its top-level group)^-balance, at most MOST_TIMES the weight
    of a document of the largest group.

    Deeper nodes have the weight of their top-level group, and documents directly at the root form a group of their own.
    Weights are scaled so that the weighted number of words is that of the census (whose counts are capped), then
    rounded to multiples of 1 / WEIGHT_STEPS, at least one such step.

    Parameters
    ----------
    census : documents and words per node.
    balance : 0 gives every document weight 1, and 1 gives every group the same total weight.

    Returns
    -------
    array of shape (nodes,), positive; 1 where a group has no documents.
    """
    if not 0 <= balance <= 1:
        raise SettingsError(f"group balance is {balance}; give a number from 0 (documents alike) to 1 (groups alike)")
    group = census.tree.top_level
    documents = np.bincount(group, census.documents, len(census.tree))[group]
    weights = np.minimum((documents.max() / np.maximum(documents, 1.0)) ** balance, MOST_TIMES)
    weighted = float(weights @ census.tokens)
    if weighted > 0:
        weights *= float(census.tokens.sum()) / weighted
    steps = np.maximum(np.rint(weights * WEIGHT_STEPS), 1.0)
    return np.where(documents > 0, steps / WEIGHT_STEPS, 1.0)


def groups_with_documents(census: Census) -> int:
    """The number of top-level groups that have documents; those directly at the root form one."""
    return len(np.unique(census.tree.top_level[census.documents > 0]))

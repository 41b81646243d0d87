"""Weights of a random-effects model: children count by the inverse of their variance, level by level (formulas §15)."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree

SMALLEST = 1e-12            # share of the total variance below which a variance counts as rounding
STEPS = 60                  # of bisection


@dataclass(frozen=True)
class VarianceComponents:
    """How much nodes differ from their parents, documents from their node, and words within a document.

    Attributes
    ----------
    levels : τ² of the levels 1, 2, …: the variance of a node's mean around its parent's, summed over directions.
    documents : the same for a document's own mean around its node's.
    words : ν; the observed mean of m words has the variance ν/m around the document's own.
    """

    levels: tuple[float, ...]
    documents: float
    words: float

    def own_variance(self, census: Census) -> np.ndarray:
        """Variance of the mean of each node's own documents, weighted by their words; infinite where there are none."""
        tokens = census.tokens
        share = np.divide(census.tokens_squared, tokens**2, out=np.zeros(len(tokens)), where=tokens > 0)
        noise = np.divide(self.words, tokens, out=np.zeros(len(tokens)), where=tokens > 0)
        smallest = SMALLEST * max(self.documents + self.words + sum(self.levels), 1e-300)
        return np.where(tokens > 0, np.maximum(self.documents * share + noise, smallest), np.inf)


@dataclass(frozen=True, eq=False)
class RandomEffects:
    """Weights that sum to one: a document of node v with m words weighs ``factor[v] * m``.

    Attributes
    ----------
    factor : array of shape (nodes,), zero where a node has no documents.
    effective_sample_size : array of shape (nodes,), the variance of one average document below the node over that of
        the node's estimated mean.
    """

    factor: np.ndarray
    effective_sample_size: np.ndarray


def random_effects(census: Census, components: VarianceComponents) -> RandomEffects:
    """A child weighs 1/(τ² + its own variance) within its parent; a node's own documents are one more child."""
    tree, own = census.tree, components.own_variance(census)
    precision, as_child = 1.0 / own, np.zeros(len(tree))
    for nodes in tree.levels_upwards:
        alive = nodes[precision[nodes] > 0]
        as_child[alive] = 1.0 / (1.0 / precision[alive] + components.levels[tree.level[nodes[0]] - 1])
        np.add.at(precision, tree.parent[alive], as_child[alive])
    path = np.ones(len(tree))
    for nodes in tree.levels_upwards[::-1]:
        path[nodes] = path[tree.parent[nodes]] * as_child[nodes] / np.maximum(precision[tree.parent[nodes]], 1e-300)
    share = np.divide(path, own * precision, out=np.zeros(len(tree)), where=precision > 0)
    factor = np.divide(share, census.tokens, out=np.zeros(len(tree)), where=census.tokens > 0)
    return RandomEffects(factor, _document_variance(census, components) * precision)


def _document_variance(census: Census, components: VarianceComponents) -> np.ndarray:
    """Variance of the observed mean of an average document around the mean of each node above it; shape (nodes,)."""
    tree, documents = census.tree, census.documents_below.astype(float)
    between = np.zeros(len(tree))                           # Σ over the documents below a node of their levels' τ²
    for nodes in tree.levels_upwards:
        here = between[nodes] + documents[nodes] * components.levels[tree.level[nodes[0]] - 1]
        np.add.at(between, tree.parent[nodes], here)
    count = np.maximum(documents, 1.0)
    words = np.maximum(census.tokens_below / count, 1.0)
    variance: np.ndarray = between / count + components.documents + components.words / words
    return variance


def level_variances(
    census: Census, means: np.ndarray, documents: float, words: float
) -> VarianceComponents:
    """τ² of every level from the means of the nodes, by the method of Paule and Mandel, deepest level first.

    With weights w = 1/(τ² + variance), Σ w ‖mean − weighted mean of the siblings‖² is on average the number of siblings
    less one; τ² is the number for which it is, over all nodes of the level together, and zero if there is none.

    Parameters
    ----------
    census : documents and words per node.
    means : array of shape (nodes, p), the mean of each node's own documents, weighted by their words.
    documents, words : the components below the nodes.
    """
    tree, found = census.tree, np.zeros(census.tree.depth)
    variance = VarianceComponents(tuple(found), documents, words).own_variance(census)
    mean, precision = means.copy(), 1.0 / variance          # of the node's estimate, from what is below it
    for level in range(tree.depth, 0, -1):
        children = np.flatnonzero((tree.level == level) & (precision > 0))
        if not len(children):
            continue
        family = _Family(tree, children, mean, precision)
        found[level - 1] = family.between()
        mean, precision = family.joined(found[level - 1])
    return VarianceComponents(tuple(float(tau) for tau in found), float(documents), float(words))


class _Family:
    """The nodes of one level with their parents; a parent's own documents are one of its children."""

    def __init__(self, tree: DocumentTree, children: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> None:
        self._mean, self._precision, self._children = mean, precision, children
        self._parent, self._nodes = tree.parent[children], len(tree)
        self._variance, self._size = 1.0 / precision[children], (mean[children] ** 2).sum(axis=1)
        self._parents = np.unique(self._parent)

    def between(self) -> float:
        """τ² by bisection: the excess of the weighted squares falls as τ² grows."""
        degrees = len(self._children) + int((self._precision[self._parents] > 0).sum()) - len(self._parents)
        if degrees < 1 or self._excess(0.0) <= degrees:
            return 0.0
        high = float(self._variance.max())
        while self._excess(high) > degrees:
            high *= 2.0
        low = 0.0
        for _ in range(STEPS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._excess(middle) > degrees else (low, middle)
        return (low + high) / 2.0

    def joined(self, between: float) -> tuple[np.ndarray, np.ndarray]:
        """Means and precisions of all nodes after this level's nodes were joined to their parents'."""
        sums, weights = self._sums(between)
        mean, precision = self._mean.copy(), self._precision.copy()
        mean[self._parents] = sums[self._parents] / weights[self._parents, None]
        precision[self._parents] = weights[self._parents]
        return mean, precision

    def _sums(self, between: float) -> tuple[np.ndarray, np.ndarray]:
        weight = 1.0 / (self._variance + between)
        sums, weights = np.zeros(self._mean.shape), np.zeros(self._nodes)
        sums[self._parents] = self._mean[self._parents] * self._precision[self._parents, None]
        weights[self._parents] = self._precision[self._parents]
        np.add.at(sums, self._parent, self._mean[self._children] * weight[:, None])
        np.add.at(weights, self._parent, weight)
        return sums, weights

    def _excess(self, between: float) -> float:
        """Σ w ‖mean − weighted mean of the siblings‖² over the families."""
        sums, weights = self._sums(between)
        own = self._precision[self._parents] @ (self._mean[self._parents] ** 2).sum(axis=1)
        joint = ((sums[self._parents] ** 2).sum(axis=1) / weights[self._parents]).sum()
        return float(own + self._size @ (1.0 / (self._variance + between)) - joint)

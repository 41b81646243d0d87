"""Document weights and effective sample sizes (formulas §7)."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.data.settings import HDP
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.tree.census import Census
from spectral_spark.tree.random_effects import VarianceComponents, random_effects

WEIGHTINGS = HDP["weighting"].options


@dataclass(frozen=True, eq=False)
class NodeWeights:
    """Document weights η that sum to one: a document of node v with m words weighs ``factor[v] * (m or 1)``.

    Attributes
    ----------
    factor : array of shape (nodes,), zero where a node has no documents.
    by_length : whether a document's weight is proportional to its number of words.
    effective_sample_size : array of shape (nodes,), n_eff of the documents at or below each node: how many equally
        weighted documents they are worth; at the root 1/‖η‖². With variance components, how many independent documents
        would give a mean as exact as the node's, which is fewer where the documents of a group resemble each other.
    """

    factor: np.ndarray
    by_length: bool
    effective_sample_size: np.ndarray

    def realised_sample_size(self, census: Census) -> float:
        """1/‖η‖² at the root: the sample size given the groups as they are."""
        squares = census.tokens_squared if self.by_length else census.documents
        return 1.0 / float(self.factor**2 @ squares)


def document_weights(factor: np.ndarray, by_length: bool, nodes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Weights of documents given their nodes and their numbers of words, int and float arrays of shape (documents,).

    ``factor`` of shape (nodes,) and ``by_length`` are those of :class:`NodeWeights`, or ``factor`` is any multiple.
    """
    if len(nodes) and not 0 <= np.min(nodes) <= np.max(nodes) < len(factor):
        raise InputError(
            f"document tree: documents at nodes {np.min(nodes)} to {np.max(nodes)}, but there are weights for "
            f"{len(factor)} nodes; use the tree the weights were made for"
        )
    return factor[nodes] * (lengths if by_length else 1.0)


def node_weights(census: Census, weighting: str, components: VarianceComponents | None = None) -> NodeWeights:
    """Weights of the documents in a tree.

    Parameters
    ----------
    census : documents and words per node, after drops.
    weighting : ``"uniform"``: every node averages its children and its own documents (the paper);
        ``"ess"``: children are weighted by the inverse of their variance (formulas §15), documents within a node by
        their words; without variance components, as in version 0.1.0, all documents are equal;
        ``"tokens"``: documents are weighted by their number of words.
    components : what ``"ess"`` weights with; not used otherwise.
    """
    if weighting not in WEIGHTINGS:
        raise SettingsError(f"weighting = {weighting!r}: choose one of {', '.join(WEIGHTINGS)}")
    documents, tokens = census.documents_below, census.tokens_below
    if documents[0] == 0:
        raise InputError("document tree: no document is left; each needs at least 3 words of the vocabulary")
    if weighting == "uniform":
        return _uniform(census)
    has_documents = census.documents > 0
    if weighting == "ess" and components is not None:
        found = random_effects(census, components)
        return NodeWeights(found.factor, True, found.effective_sample_size)
    if weighting == "ess":
        return NodeWeights(has_documents / documents[0], False, documents.astype(float))
    if not tokens[0] > 0:
        raise InputError("document tree: the documents have no words, so they cannot be weighted by them; drop them")
    squared = census.tokens_squared_below
    sizes = np.divide(tokens**2, squared, out=np.zeros_like(tokens), where=squared > 0)
    return NodeWeights(has_documents / tokens[0], True, sizes)


def _uniform(census: Census) -> NodeWeights:
    tree, children = census.tree, census.children
    share = np.divide(1.0, children, out=np.zeros(len(tree)), where=children > 0)
    path_weight = share.copy()
    for nodes in tree.levels_upwards[::-1]:
        path_weight[nodes] *= path_weight[tree.parent[nodes]]
    inverse_sum = census.documents.astype(float)
    inverse = np.zeros(len(tree))
    for nodes in [*tree.levels_upwards, np.zeros(1, dtype=np.int64)]:
        inverse[nodes] = inverse_sum[nodes] * share[nodes] ** 2
        if nodes[0]:
            np.add.at(inverse_sum, tree.parent[nodes], inverse[nodes])
    sizes = np.divide(1.0, inverse, out=np.zeros(len(tree)), where=inverse > 0)
    return NodeWeights(np.where(census.documents > 0, path_weight, 0.0), False, sizes)

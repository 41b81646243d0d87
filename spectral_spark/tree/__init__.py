"""The document tree: nodes, census, document weights, effective sample sizes, bounds. NumPy only."""

from spectral_spark.tree.bounds import moment_bound, tensor_bound
from spectral_spark.tree.census import Census
from spectral_spark.tree.group_balance import group_weights
from spectral_spark.tree.nodes import DocumentTree
from spectral_spark.tree.random_effects import VarianceComponents
from spectral_spark.tree.weights import WEIGHTINGS, NodeWeights, document_weights, node_weights

__all__ = [
    "WEIGHTINGS", "Census", "DocumentTree", "NodeWeights", "VarianceComponents", "document_weights", "group_weights",
    "moment_bound", "node_weights", "tensor_bound",
]

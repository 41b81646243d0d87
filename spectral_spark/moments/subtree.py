"""The moments of one node of the tree and everything below it, from a state that keeps the sums of every node."""

from collections.abc import Sequence
from dataclasses import replace

from spectral_spark.errors import InputError
from spectral_spark.moments.leaf_moments import LeafMoments
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree


def subtree(state: MomentState, path: Sequence[str]) -> MomentState:
    """The state of the documents at or below a node, which becomes the root.

    Pair moments are kept for the whole tree only and are left out, as are statistics of groups. The noise of documents
    is that of the whole corpus, scaled to their number.
    """
    if not state.kept_by_node:
        raise InputError("these moments are sums over all documents; topics of a subtree need the sums of every node, "
                         "which fits with `weighting=uniform` or `weighting=ess` keep")
    census, top = state.census, tuple(path)
    depth, root = len(top), census.tree.index(top)
    if not census.documents_below[root]:
        raise InputError(f"document tree: there are no documents at or below '{'/'.join(top)}'")
    rows = [node for node, known in enumerate(census.tree.paths) if known[:depth] == top]
    tree = DocumentTree.from_paths(census.tree.paths[node][depth:] for node in rows)
    cubed = None if census.tokens_cubed is None else census.tokens_cubed[rows]
    own = Census(tree, census.documents[rows], census.tokens[rows], census.tokens_squared[rows], cubed)
    kept = [number for number, slot in enumerate(state.slots) if tuple(slot[:depth]) == top]
    one, other = (
        LeafMoments(**{name: array[kept] for name, array in half.arrays().items()}) for half in state.half_samples
    )
    variances = state.variances
    if variances is not None:
        variances = replace(variances, levels=variances.levels[depth : depth + tree.depth])
    return replace(
        state, slots=tuple(state.slots[number][depth:] for number in kept), half_samples=(one, other), census=own,
        node_first=state.node_first[rows], noise=state.noise * (own.documents.sum() / state.documents), groups=None,
        sources=(), dropped=0, level_squares=None, components=variances,
    )

"""The HDP coefficients C2 … C6: how the moments of documents follow from those of the root (formulas §1).

Nodes at level l are drawn around their parent with concentration g_l, documents around their node with the last one,
at whatever level that node is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectral_spark.errors import SettingsError
from spectral_spark.tree.nodes import DocumentTree


@dataclass(frozen=True)
class HDPCoefficients:
    """M2 = c2 M1M1ᵀ + c3 Φ diag(π0) Φᵀ and M3 = c4 M1⊗M1⊗M1 + c5 sym3(S2 ⊗ M1) + c6 Σ π0_i φ_i⊗φ_i⊗φ_i."""

    c2: float
    c3: float
    c4: float
    c5: float
    c6: float

    @property
    def kappa(self) -> float:
        """c6 / c3^(3/2): all that root moments reveal about the concentrations (formulas §5)."""
        return self.c6 / self.c3**1.5


def hdp_coefficients(concentrations: Sequence[float]) -> HDPCoefficients:
    """Coefficients when every path from the root has the same concentrations g_1 … g_(L−1), documents last.

    Examples
    --------
    >>> hdp_coefficients([1.0]).c2
    0.5
    """
    shares = _ROOT[:, None]
    for g in checked_concentrations(concentrations):
        shares = _drawn(shares, np.array([g]))
    return _finished(shares[:, 0])


def node_coefficients(
    tree: DocumentTree, node_concentration: np.ndarray, document_concentration: np.ndarray, node_weight: np.ndarray
) -> HDPCoefficients:
    """Coefficients for a tree whose nodes each have their own concentrations.

    Parameters
    ----------
    tree : N nodes.
    node_concentration : array of shape (N,), g that draws the node from its parent (the root's is not used).
    document_concentration : array of shape (N,), g that draws the node's documents from it.
    node_weight : array of shape (N,), total weight of the node's own documents; any scale.
    """
    below_root = checked_concentrations(node_concentration[1:], allow_none=True)
    documents = checked_concentrations(document_concentration)
    shares = np.repeat(_ROOT[:, None], len(tree), axis=1)
    for nodes in tree.levels_upwards[::-1]:
        shares[:, nodes] = _drawn(shares[:, tree.parent[nodes]], below_root[nodes - 1])
    total = float(np.sum(node_weight))
    if not total > 0:
        raise SettingsError(f"node weights sum to {total}: no node has documents")
    return _finished(_drawn(shares, documents) @ (np.asarray(node_weight, dtype=float) / total))


def level_coefficients(
    tree: DocumentTree, concentrations: Sequence[float], node_weight: np.ndarray
) -> HDPCoefficients:
    """Coefficients for a tree of any and unequal depth with one concentration per level, the documents' last.

    Parameters
    ----------
    concentrations : g of the nodes at level 1, 2, … and, last, of the documents; depth + 1 numbers.
    node_weight : array of shape (N,), total weight of the node's own documents.
    """
    g = checked_concentrations(concentrations)
    if len(g) != tree.depth + 1:
        raise SettingsError(
            f"concentrations {list(concentrations)}: this tree has {tree.depth} levels of groups, so give "
            f"{tree.depth + 1} numbers, the documents' last"
        )
    at_nodes = np.concatenate(([1.0], g[tree.level[1:] - 1]))
    return node_coefficients(tree, at_nodes, np.full(len(tree), g[-1]), node_weight)


def share_coefficients(concentrations: Sequence[float], shares: Sequence[float] | np.ndarray) -> HDPCoefficients:
    """The same as :func:`level_coefficients`, from the weight of the documents at each level.

    Parameters
    ----------
    concentrations : g of the levels 1, 2, … and, last, of the documents.
    shares : array of the same length, the weight of the documents at nodes of the levels 0, 1, 2, …; any scale.
    """
    *levels, documents = checked_concentrations(concentrations)
    if len(shares) != len(levels) + 1:
        raise SettingsError(f"{len(shares)} shares for {len(levels)} levels of groups; give one more than levels")
    layers = [_ROOT[:, None]]
    for g in levels:
        layers.append(_drawn(layers[-1], np.array([g])))
    drawn = _drawn(np.hstack(layers), np.full(len(layers), documents))
    return _finished(drawn @ (np.asarray(shares, dtype=float) / np.sum(shares)))


def checked_concentrations(concentrations: Sequence[float] | np.ndarray, *, allow_none: bool = False) -> np.ndarray:
    """The concentrations as a float array; they must be positive and finite, and not empty unless allowed."""
    try:
        g = np.asarray(concentrations, dtype=float)
    except (TypeError, ValueError):
        raise SettingsError(f"concentrations {concentrations!r}: give positive numbers, the documents' last") from None
    if g.ndim != 1 or (g.size == 0 and not allow_none):
        raise SettingsError(f"concentrations {concentrations!r}: give a list of positive numbers, the documents' last")
    wrong = ~(np.isfinite(g) & (g > 0))
    if wrong.any():
        raise SettingsError(f"concentration {g[wrong][0]}: give positive, finite numbers")
    return g


# Rows: c2, c3, c4, c3·c5, c6. At the root itself every word follows π0 directly.
_ROOT = np.array([1.0, 0.0, 1.0, 0.0, 0.0])


def _drawn(shares: np.ndarray, g: np.ndarray) -> np.ndarray:
    """One more Dirichlet layer. Sums of positive terms only: the closed forms cancel when concentrations are large."""
    c2, c3, c4, c35, c6 = shares
    kept, new = g / (g + 1.0), 1.0 / (g + 1.0)
    all_kept, one_new, all_new = kept * (g / (g + 2.0)), kept / (g + 2.0), 2.0 * new / (g + 2.0)
    return np.stack([
        c2 * kept,
        c3 * kept + new,
        c4 * all_kept,
        c35 * all_kept + c2 * one_new,
        c6 * all_kept + 3.0 * c3 * one_new + all_new,
    ])


def _finished(shares: np.ndarray) -> HDPCoefficients:
    c2, c3, c4, c35, c6 = map(float, shares)
    return HDPCoefficients(c2, c3, c4, c35 / c3, c6)

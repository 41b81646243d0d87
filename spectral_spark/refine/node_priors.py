"""Proportions of every tree node and concentrations of every level, from sums over documents (formulas §11).

A document of node v draws its proportions from Dirichlet(g π_v), the node from Dirichlet(g_l π_parent). Seen from the
parent, a child with counts n of a topic made about α(ψ(α + n) − ψ(α)) draws from it, α = g π_parent (the tables of a
Chinese restaurant). These expected draws are the counts of the next level up, and they also give each level's
concentration by the fixed point g ← Σ draws / Σ (ψ(n + g) − ψ(g)).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

ROOT_SMOOTHING = 1.0         # draws that are spread evenly over the topics at the root
ROWS_AT_ONCE = 2048         # of a level: copies of so few stay in the cache
PRIOR_DRAWS = 1.0            # a Gamma(1, ·) prior keeps the concentration of a level with few nodes near its last value


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Node proportions and concentrations.

    Attributes
    ----------
    proportions : array of shape (nodes, k), rows sum to one.
    concentrations : array of shape (depth + 1,): g of the nodes of level 1, …, depth, and of the documents.
    """

    proportions: np.ndarray
    concentrations: np.ndarray


def update_hierarchy(
    now: Hierarchy, parent: np.ndarray, level: np.ndarray, tables: np.ndarray, spread: np.ndarray, *,
    learn: bool, bounds: tuple[float, float], newest: tuple[float, float] | None = None, learn_documents: bool = True,
    place: np.ndarray | None = None,
) -> Hierarchy:
    """One sweep up the tree and one down.

    Parameters
    ----------
    now : the proportions and concentrations that the documents' sums were computed with.
    parent, level : int arrays of shape (nodes,); parents come before their children, -1 at the root.
    tables : array of shape (nodes, k), expected draws of the documents directly at each node.
    spread : array of shape (nodes,), Σ ψ(m + g) − ψ(g) over the documents directly at each node.
    learn : whether concentrations are learnt; bounds : the range they are clipped to.
    newest : sums of tables and spread over the documents seen last, if the others are running sums. The documents'
        concentration is then learnt from these alone, because running sums would lag behind it.
    learn_documents : whether the documents' concentration is among those that are learnt.
    place : int array of shape (nodes,), the row of each node in the proportions of ``now`` if these are of a cut tree.
    """
    above = parent if place is None else place[parent]
    total, concentrations = tables.copy(), now.concentrations.copy()
    draws_and_spread = newest or (float(tables.sum()), float(spread.sum()))
    concentrations[-1] = _fixed_point(concentrations[-1], *draws_and_spread)
    for depth in range(len(concentrations) - 1, 0, -1):
        members = np.flatnonzero(level == depth)
        own, counts = now.concentrations[depth - 1], total[members]
        draws, cells = _expected_draws(own, now.proportions, above[members], counts)
        np.add.at(total.reshape(-1), _cells_above(parent[members], cells, total.shape[1]), draws.reshape(-1)[cells])
        sizes = counts.sum(axis=1)
        between = float((digamma(sizes + own) - digamma(own)).sum())
        concentrations[depth - 1] = _fixed_point(own, float(draws.sum()), between)
    concentrations = np.clip(concentrations, *bounds) if learn else now.concentrations
    if not learn_documents:
        concentrations = np.append(concentrations[:-1], now.concentrations[-1])
    return Hierarchy(_proportions(total, parent, level, concentrations), concentrations)


def _expected_draws(
    own: float, proportions: np.ndarray, above: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """α(ψ(α + n) − ψ(α)), α = own · π of the nodes ``above``, of the shape of the counts n, and the cells that are not
    zero: only those of positive counts are computed, since most nodes of a large tree lack most topics."""
    cells = np.flatnonzero(counts > 0)
    some = counts.reshape(-1)[cells]
    alpha = own * proportions.reshape(-1)[_cells_above(above, cells, counts.shape[1])]
    draws = np.zeros(counts.shape)
    draws.reshape(-1)[cells] = alpha * (digamma(alpha + some) - digamma(alpha))
    return draws, cells


def _cells_above(above: np.ndarray, cells: np.ndarray, k: int) -> np.ndarray:
    """For cells of an array of k columns, the same columns in the rows ``above``; all are places in flat arrays."""
    rows = cells // k
    moved: np.ndarray = cells + (above[rows] - rows) * k
    return moved


def _fixed_point(now: float, draws: float, spread: float) -> float:
    return (draws + PRIOR_DRAWS) / (spread + PRIOR_DRAWS / now)


def _proportions(total: np.ndarray, parent: np.ndarray, level: np.ndarray, concentrations: np.ndarray) -> np.ndarray:
    k = total.shape[1]
    proportions = np.empty_like(total)
    proportions[0] = (total[0] + ROOT_SMOOTHING / k) / (total[0].sum() + ROOT_SMOOTHING)
    for depth in range(1, len(concentrations)):
        level_members, own = np.flatnonzero(level == depth), concentrations[depth - 1]
        for at in range(0, len(level_members), ROWS_AT_ONCE):
            members = level_members[at : at + ROWS_AT_ONCE]
            shares = total[members]
            mass = shares.sum(axis=1, keepdims=True) + own
            shares += own * proportions[parent[members]]
            shares /= mass
            proportions[members] = shares
    return proportions

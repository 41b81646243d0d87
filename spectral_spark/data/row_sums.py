"""Sums of rows that share a target, such as the children of tree nodes."""

import numpy as np
import scipy.sparse as sp


def add_to_rows(total: np.ndarray, targets: np.ndarray, values: np.ndarray) -> None:
    """``np.add.at(total, targets, values)``, to the same bits, many times as fast for wide rows.

    Parameters
    ----------
    total : float array of shape (n, ...), which is changed.
    targets : int array of shape (m,), ascending, as the parents of a tree's nodes are within a level.
    values : array of shape (m, ...), added to their targets one after the other.
    """
    if total.ndim == 1:
        np.add.at(total, targets, values)
        return
    if not len(targets):
        return
    begins = np.flatnonzero(np.concatenate([[True], targets[1:] != targets[:-1]]))
    rows = targets[begins]
    places = np.insert(np.arange(len(targets)) + len(rows), begins, np.arange(len(rows)))   # a target, then its values
    ends = np.concatenate([begins, [len(targets)]]) + np.arange(len(rows) + 1)
    adding = sp.csr_matrix((np.ones(len(places)), places, ends), shape=(len(rows), len(rows) + len(targets)))
    total[rows] = adding @ np.concatenate([total[rows], values])

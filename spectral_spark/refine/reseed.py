"""Topics that are worth little make room for a second copy of the most valuable ones.

EM only ever improves the topics it has: a topic that explains next to nothing stays where it is while another covers
several themes at once. Splitting the second in two, each half with its own share of every word, lets the next pass
pull the themes apart.
"""

import numpy as np

from spectral_spark.refine.hierarchy import Hierarchy
from spectral_spark.refine.settings import RefineSettings
from spectral_spark.refine.state import RefineState

SPREAD = 0.5                 # of the log odds by which the halves share a word: enough to fall apart, little to unlearn


def reseed(
    state: RefineState, values: np.ndarray, settings: RefineSettings, seed: int
) -> tuple[RefineState, list[int]]:
    """Give the columns of the least valuable topics to halves of the most valuable.

    Parameters
    ----------
    values : array of shape (k,), what each topic is worth, see ``value.TopicValueKernel``.
    settings : ``reseeded`` is the largest share of the topics to move, ``advantage`` how many times more than the topic
        that goes the one that is split must be worth.
    seed : of the halves' differences.

    Returns
    -------
    the state with moved topics, and their columns.
    """
    order = np.argsort(values, kind="stable")
    pairs = [
        (int(poor), int(rich)) for poor, rich in zip(order, order[::-1], strict=True)
        if values[rich] > settings.advantage * max(values[poor], 0.0)
    ][: int(settings.reseeded * state.k)]
    statistics, proportions, tables = (
        array.copy() for array in (state.statistics, state.hierarchy.proportions, state.node_tables)
    )
    rng = np.random.default_rng([seed, state.k])
    for poor, rich in pairs:
        part = 1.0 / (1.0 + np.exp(2.0 * SPREAD * rng.standard_normal(len(statistics))))
        _share(statistics, poor, rich, part)
        _share(proportions, poor, rich, 0.5)
        _share(tables, poor, rich, 0.5)
    proportions /= proportions.sum(axis=1, keepdims=True)
    statistics *= state.statistics.sum() / statistics.sum()
    hierarchy = Hierarchy(proportions, state.hierarchy.concentrations)
    return state.replaced(statistics, hierarchy, tables), [poor for poor, _ in pairs]


def _share(array: np.ndarray, poor: int, rich: int, part: np.ndarray | float) -> None:
    array[:, poor] = array[:, rich] * part
    array[:, rich] -= array[:, poor]

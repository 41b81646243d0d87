"""Topic shares of groups of documents, with intervals, in one scoring pass over a DataFrame of any size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from spectral_spark.answers.groups import cluster_cells, cluster_hashes
from spectral_spark.answers.share_estimates import GroupShares, group_shares
from spectral_spark.answers.share_kernel import ShareKernel
from spectral_spark.engine.documents import DocumentColumns
from spectral_spark.errors import SettingsError
from spectral_spark.evaluate.evaluation import ScoredTopics, open_scored

REPLICATES = 200
Path = tuple[str, ...]


@dataclass(frozen=True)
class Bootstrap:
    """How the uncertainty is measured.

    Attributes
    ----------
    seed : of everything random.
    level : documents in the same group of this level of the tree are drawn together; None draws single documents.
    replicates : of the Poisson bootstrap, for groups of single documents that may have some in common; 0 for none.
    """

    seed: int = 0
    level: int | None = None
    replicates: int = 0

    def __post_init__(self) -> None:
        if 0 < self.replicates < 20:
            raise SettingsError(f"`replicates` is {self.replicates}; give at least 20")
        if self.level is not None and self.level < 1:
            raise SettingsError(f"`groupLevel` is {self.level}; 1 draws top-level groups, 2 those below, and so on")


def shares_of(
    frame: DataFrame, columns: DocumentColumns, model: ScoredTopics, bootstrap: Bootstrap,
    grouped: Callable[[Sequence[Path]], tuple[np.ndarray, list[Path]]], head: int = 0,
) -> tuple[GroupShares, list[Path]]:
    """The shares of groups of documents.

    Parameters
    ----------
    grouped : from the paths of the documents to the groups of every node, array of shape (nodes, levels), and the names
        of the groups.
    head : names at the head of the paths that are not of the model's tree.
    """
    with open_scored(frame, columns, len(model.topics)) as corpus:
        paths = corpus.census.tree.paths
        groups, names = grouped(paths)
        rows, parts = groups, None
        if bootstrap.level is not None:
            rows, parts = cluster_cells(groups, cluster_hashes(paths, bootstrap.level, head))
        count = len(names) if parts is None else len(parts)
        kernel = ShareKernel(count, parts is None, bootstrap.replicates if parts is None else 0, bootstrap.seed)
        shared = {
            "topics": np.ascontiguousarray(model.topics), "node_prior": node_priors(paths, model, head),
            "concentration": np.array([model.concentration]), "groups": rows,
        }
        size = 8 * count * kernel.rows * model.topics.shape[1]
        sums = corpus.packed.sum(kernel, shared, name="shares of groups", state_bytes=size)
    return group_shares(sums, parts), names


def node_priors(paths: Sequence[Path], model: ScoredTopics, head: int) -> np.ndarray:
    """The proportions of the deepest node of the model on every path, array of shape (paths, k)."""
    known = {tuple(path): row for path, row in zip(model.paths, model.proportions, strict=True)}
    rows = []
    for path in paths:
        tail = path[head:]
        cuts = (tail[:level] for level in range(len(tail), -1, -1))
        rows.append(next((known[cut] for cut in cuts if cut in known), model.weights))
    return np.array(rows)

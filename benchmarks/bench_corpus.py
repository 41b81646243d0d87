"""Training and test documents of a corpus as plain arrays, the same for every competitor."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from spectral_spark.data.count_batch import CountBatch

BATCH = 1024
_PARTS = ("indptr", "terms", "counts", "nodes", "keys")


@dataclass(frozen=True, eq=False)
class BenchCorpus:
    """A corpus in memory.

    Attributes
    ----------
    train, test : CountBatch each; ``nodes`` index ``paths``.
    paths : tree nodes as tuples of names, parents first, () is node 0.
    vocabulary : the d words.
    """

    train: CountBatch
    test: CountBatch
    paths: tuple[tuple[str, ...], ...]
    vocabulary: tuple[str, ...]

    @property
    def parent(self) -> np.ndarray:
        """Index of each node's parent, −1 at the root."""
        place = {path: i for i, path in enumerate(self.paths)}
        return np.array([place[path[:-1]] if path else -1 for path in self.paths])

    @property
    def unigram_totals(self) -> np.ndarray:
        return np.bincount(self.train.terms, self.train.counts, len(self.vocabulary))


def save(corpus: BenchCorpus, path: Path) -> None:
    """One ``.npz`` file."""
    arrays: dict[str, Any] = {"about": json.dumps({"paths": corpus.paths, "vocabulary": corpus.vocabulary})}
    for name, batch in (("train", corpus.train), ("test", corpus.test)):
        for part in _PARTS:
            arrays[f"{name}_{part}"] = getattr(batch, part)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)


def load(path: Path) -> BenchCorpus:
    """Read what :func:`save` wrote."""
    with np.load(path) as saved:
        about = json.loads(str(saved["about"]))
        size = len(about["vocabulary"])
        train, test = (
            CountBatch(**{part: saved[f"{name}_{part}"] for part in _PARTS}, vocab_size=size)
            for name in ("train", "test")
        )
    return BenchCorpus(train, test, tuple(tuple(path) for path in about["paths"]), tuple(about["vocabulary"]))


def batches(whole: CountBatch, rows: np.ndarray | None = None) -> list[CountBatch]:
    """The documents (or the chosen ones) in batches of a size kernels like."""
    chosen = np.arange(whole.n_documents) if rows is None else rows
    return [take(whole, chosen[start : start + BATCH]) for start in range(0, len(chosen), BATCH)]


def take(whole: CountBatch, rows: np.ndarray) -> CountBatch:
    """Some documents of a batch, with arrays of their own."""
    part: sp.csr_matrix = whole.matrix[rows]
    return CountBatch(part.indptr, part.indices, part.data, whole.nodes[rows], whole.keys[rows], whole.vocab_size)


def groups_repeated(corpus: BenchCorpus) -> CountBatch:
    """The training documents, those of a top-level group of n as often as round(largest / n): groups count about alike.

    Documents directly at the root are a group of their own. Copies stand beside each other.
    """
    names = {path[:1] for path in corpus.paths}
    number = {name: place for place, name in enumerate(sorted(names))}
    group = np.array([number[path[:1]] for path in corpus.paths])[corpus.train.nodes]
    sizes = np.bincount(group, minlength=len(number))
    copies = np.rint(sizes.max() / np.maximum(sizes, 1)).astype(int)
    return take(corpus.train, np.repeat(np.arange(corpus.train.n_documents), copies[group]))


def prepare(spark: Any, corpus_path: str, layers: int | None = None) -> BenchCorpus:
    """Read a corpus written by ``ingest``; keys are those the engine uses, so halves equal those of ``evaluate``."""
    from spectral_spark.engine.documents import DocumentColumns, working_columns
    from spectral_spark.ingest.corpus_store import open_corpus

    corpus = open_corpus(spark, corpus_path)
    columns = DocumentColumns(features=None, terms="terms", counts="counts", path="path", id="doc_id")
    tables = {
        split: working_columns(corpus.documents(split), columns, layers).orderBy("key", "tie").toArrow()
        for split in ("train", "test")
    }
    seen = {tuple(path) for table in tables.values() for path in table["path"].to_pylist()}
    paths = tuple(sorted({path[:depth] for path in seen for depth in range(len(path) + 1)} | {()}, key=_tree_order))
    place = {path: i for i, path in enumerate(paths)}
    train, test = (_batch(tables[split], place, len(corpus.vocabulary)) for split in ("train", "test"))
    return BenchCorpus(train, test, paths, tuple(corpus.vocabulary))


def _tree_order(path: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    return len(path), path


def _batch(table: Any, place: dict[tuple[str, ...], int], vocab_size: int) -> CountBatch:
    terms = table["terms"].combine_chunks()
    lengths = np.diff(terms.offsets.to_numpy())
    return CountBatch(
        np.concatenate(([0], np.cumsum(lengths))),
        terms.flatten().to_numpy().astype(np.int32),
        table["counts"].combine_chunks().flatten().to_numpy().astype(np.float64),
        np.array([place[tuple(path)] for path in table["path"].to_pylist()], np.int32),
        table["key"].to_numpy().astype(np.int64),
        vocab_size,
    )

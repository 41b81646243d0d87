"""Topics on their way from the process that fitted them to the one that scores them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_corpus import BenchCorpus
from common import write_json
from peer_models import Snapshot


@dataclass(frozen=True)
class Tree:
    """Proportions per tree node that a model came with."""

    paths: tuple[tuple[str, ...], ...]
    proportions: np.ndarray

    def for_corpus(self, corpus: BenchCorpus) -> np.ndarray:
        """Rows for the nodes of a corpus: the deepest node of the model on each path."""
        known = dict(zip(self.paths, self.proportions, strict=True))
        rows = []
        for path in corpus.paths:
            while path and path not in known:
                path = path[:-1]
            rows.append(known[path])
        return np.array(rows)


def write(folder: Path, row: dict[str, Any], snapshot: Snapshot, tree: Tree | None = None) -> None:
    """Save a snapshot as ``NAME.npz`` with the facts about it in ``NAME.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", f"{row['name']} {row['k']} {snapshot.budget}".lower())
    arrays: dict[str, Any] = {"topics": snapshot.topics.astype(np.float64), "weights": snapshot.weights}
    if tree is not None:
        arrays |= {"proportions": tree.proportions, "paths": np.array(json.dumps(tree.paths))}
    np.savez(folder / f"{name}.npz", **arrays)
    facts = {"budget": snapshot.budget, "seconds": snapshot.seconds, "prepare_seconds": snapshot.prepare_seconds}
    write_json(folder / f"{name}.json", {**row, **facts, "own": snapshot.own})


def read(folder: Path) -> Iterator[tuple[dict[str, Any], np.ndarray, np.ndarray, Tree | None]]:
    """All snapshots of a folder: facts, topics, weights, tree."""
    for path in sorted(folder.glob("*.json")):
        with np.load(path.with_suffix(".npz")) as saved:
            tree = None
            if "paths" in saved:
                paths = tuple(tuple(names) for names in json.loads(str(saved["paths"])))
                tree = Tree(paths, saved["proportions"])
            yield json.loads(path.read_text()), saved["topics"], saved["weights"], tree

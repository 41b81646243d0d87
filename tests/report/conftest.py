"""Models made of random numbers, written as ``fit`` writes them, and a real browser."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark.files.directories import new_directory
from spectral_spark.files.model_files import MODEL_KIND, MODEL_VERSION, NodeTable, TopicModelFiles, write_model_files

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

MakeFiles = Callable[..., TopicModelFiles]


def tree_paths(widths: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    """A full tree: widths (4, 3) is four groups of three groups each."""
    paths: list[tuple[str, ...]] = [()]
    level: list[tuple[str, ...]] = [()]
    for depth, width in enumerate(widths):
        level = [(*path, f"g{depth}-{number}") for path in level for number in range(width)]
        paths += level
    return tuple(paths)


def synthetic_files(
    k: int = 12,
    d: int = 400,
    widths: tuple[int, ...] = (4, 3),
    words: tuple[str, ...] | None = None,
    paths: tuple[tuple[str, ...], ...] | None = None,
    evaluated: bool = True,
    changes: dict[str, Any] | None = None,
    summary: dict[str, Any] | None = None,
) -> TopicModelFiles:
    """A model whose topic t prefers the words w ≡ t (mod k), so that tests know where words belong."""
    random = np.random.default_rng(7)
    scores = random.gamma(0.3, size=(d, k)) + 1e-4
    scores[np.arange(d), np.arange(d) % k] += 4.0 * random.gamma(1.0, size=d)
    topics = scores / scores.sum(axis=0)
    paths = paths if paths is not None else tree_paths(widths)
    proportions = random.dirichlet(np.full(k, 0.6), size=len(paths))
    weights = proportions[0]
    documents = np.array([max(12_000 // 6 ** len(path) + number, 25) for number, path in enumerate(paths)])
    nodes = NodeTable(paths, documents, documents * 0.4, proportions)
    vocabulary = words if words is not None else tuple(f"w{number}" for number in range(d))
    evaluation = {
        "loss": 6.9, "unigram_loss": 8.0, "tokens": 54_321, "npmi": 0.11, "diversity": 0.8,
        "nodes": [{"path": list(path), "loss": 6.8, "unigram_loss": 7.9, "tokens": 900} for path in paths],
    } if evaluated else None
    report = {
        "k": k, "documents": int(documents[0]), "terms": d, "tokens": 987_654, "dropped": {"too_short": 17},
        "effective_sample_size": 4321.0, "concentrations": [1.0, 0.5], "weighting": "tokens", "solver": "polar",
        "spectrum": [*np.geomspace(1, 0.01, 2 * k), 0.0, -0.01], "noise_floor": 0.1, "residual": 0.02, "seed": 3,
        "rank_reason": f"{k} values lie above the noise floor", "bounds": {"moments": 0.1},
        "passes": [{"name": "moments", "seconds": 2.5, "documents": 12_000}], "seconds": {"total": 12.5},
        "versions": {"numpy": "2.0"},
    } if summary is None else summary
    return TopicModelFiles(topics, weights, vocabulary, nodes, report, {"k": "auto"}, evaluation, changes)


def drawn_answers(files: TopicModelFiles, months: int = 24) -> dict[str, Any]:
    """Answers about documents as the verb ``answers`` writes them, with numbers of their own."""
    random, k = np.random.default_rng(3), files.topics.shape[1]
    shares = random.dirichlet(np.full(k, 0.6), size=len(files.nodes.paths)).round(6)
    course = random.dirichlet(np.full(k, 5.0), size=months).round(6)
    return {
        "kind": "spectral-answers", "version": 1, "k": k, "interval": 0.9,
        "nodes": [{"path": list(path), "documents": 10, "shares": line.tolist(),
                   "lower": np.maximum(line - 0.02, 0).tolist(), "upper": np.minimum(line + 0.03, 1).tolist()}
                  for path, line in zip(files.nodes.paths, shares, strict=True)],
        "exemplars": [{"path": [], "topic": topic, "rank": 1, "id": f"=mail-{topic}", "share": 0.9, "words": 30}
                      for topic in range(k)],
        "columns": [{
            "by": ["month"], "values": [f"2001-{month:02d}" for month in range(months)], "documents": [50] * months,
            "left_out": 0, "share": course.tolist(), "lower": (course * 0.9).tolist(),
            "upper": (course * 1.1).tolist(), "trend": [0.5] * k, "change": [0.01 * topic for topic in range(k)],
        }],
    }


@pytest.fixture
def files() -> MakeFiles:
    return synthetic_files


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., str]:
    """Write a synthetic model; returns its path."""

    def save(**settings: Any) -> str:
        path = tmp_path / "model"
        with new_directory(path, MODEL_KIND, MODEL_VERSION, overwrite=True) as staging:
            write_model_files(staging, synthetic_files(**settings))
        return str(path)

    return save


@pytest.fixture(scope="session")
def window() -> Iterator[Any]:
    """A headless Chromium; skipped with the reason where there is none and none may be installed."""
    from browser import NoBrowser, find_browser, open_browser

    pytest.importorskip("selenium", reason="selenium drives the browser: pip install selenium")
    disposable = bool(os.environ.get("CI")) or Path("/.dockerenv").exists()
    try:
        paths = find_browser(install=disposable)
    except NoBrowser as reason:
        pytest.skip(str(reason))
    with open_browser(paths) as browser:
        yield browser

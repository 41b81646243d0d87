"""Beside the NumPy reference, where it lies next to the real data: equal moments, and no worse topics on one draw."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark.refine.backend_numpy import e_step

BENCH = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def recovery() -> Iterator[Any]:
    sys.path.insert(0, str(BENCH))
    from importlib import import_module

    yield import_module("recovery")
    sys.path.remove(str(BENCH))


@pytest.fixture(scope="module")
def references(recovery: Any, real_data: Path) -> dict[str, Any]:
    files = {path.stem: path for path in (real_data.parent / "reference").glob("*_reference.py")}
    if not files:
        pytest.skip("no reference implementation beside the real data")
    return {name: recovery.other_solution.load(path) for name, path in files.items()}


def test_moments_are_the_references(recovery: Any, references: dict[str, Any]) -> None:
    corpus = recovery.draw(recovery.Setting("small", 2_000, 200, 5, (1.0,)), 0)
    state = recovery.collect(corpus, 12)
    theirs = references["spectral_reference"].Moments(state.basis.projection).add(corpus.batch.matrix).finish()
    root = state.root()
    for mine, other in zip((root.first, root.second, root.third), theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-12 * np.abs(other).max())


@pytest.mark.parametrize("concentration", [1.0, 5.0])
def test_recovery_is_no_worse(recovery: Any, references: dict[str, Any], concentration: float) -> None:
    setting = recovery.Setting("small", 8_000, 600, 30, (concentration,))
    rows = recovery.solver_errors(setting, 0, references["spectral_reference"])
    errors = {row["solver"]: (row["error"], row["same_draw"]) for row in rows}
    assert errors["polar"][0] <= 1.05 * errors["polar"][1]
    assert errors["power"][0] <= 1.1 * errors["power"][1]
    assert max(errors["als"][0], errors["sketch"][0]) <= 1.1 * errors["power"][1]


def test_document_steps_are_the_references(recovery: Any, references: dict[str, Any]) -> None:
    corpus = recovery.draw(recovery.Setting("small", 300, 100, 6, (1.0,)), 1)
    documents, topics = corpus.batch, np.maximum(corpus.topics, 1e-6)
    means = np.random.default_rng(0).dirichlet(np.ones(6), documents.n_documents)
    statistics, nodes, tables = np.zeros(topics.shape), np.zeros((1, 6)), np.zeros((1, 6))
    e_step(
        documents.indptr.astype(np.int64), documents.terms.astype(np.int64), documents.counts,
        np.zeros(documents.n_documents, np.int64), topics, means, np.full(documents.n_documents, 2.0),
        np.ones(documents.n_documents), 10, statistics, nodes, tables,
    )
    expected, _ = references["refine_reference"].e_step(documents.matrix.astype(float), topics, 2.0 * means, 10)
    np.testing.assert_allclose(statistics, expected, atol=1e-9 * expected.max())

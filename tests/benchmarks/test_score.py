"""The benchmark's own parts: its evaluator, its bookkeeping, and its peers on a tiny corpus."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.completion import CompletionKernel, completion_inputs, unigram_of

BENCH = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """The modules of benchmarks, importable by their plain names as when a script there runs."""
    sys.path.insert(0, str(BENCH))
    from importlib import import_module
    from types import SimpleNamespace

    names = ("common", "bench_corpus", "score", "peer_models", "snapshots")
    yield SimpleNamespace(**{name: import_module(name) for name in names})
    sys.path.remove(str(BENCH))


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.full(50, 0.1), 4).T * 0.95 + 0.05 / 50


@pytest.fixture(scope="module")
def corpus(bench: Any, truth: np.ndarray) -> Any:
    rng = np.random.default_rng(1)
    groups = rng.dirichlet(np.full(4, 0.5), 2)

    def documents(n: int, first: int) -> CountBatch:
        nodes = rng.integers(1, 3, n).astype(np.int32)
        dense = [rng.multinomial(20, truth @ rng.dirichlet(2 * groups[node - 1] + 1e-3)) for node in nodes]
        rows = sp.csr_matrix(np.array(dense, float))
        keys = rng.integers(-(2**62), 2**62, n)
        return CountBatch(rows.indptr, rows.indices, rows.data, nodes, keys, 50)

    return bench.bench_corpus.BenchCorpus(
        documents(400, 0), documents(300, 1000), ((), ("a",), ("b",)), tuple(f"w{i}" for i in range(50))
    )


def test_true_topics_score_best_and_node_priors_help(bench: Any, corpus: Any, truth: np.ndarray) -> None:
    weights = np.full(4, 0.25)
    good = bench.score.score(corpus, truth, weights)
    bad = bench.score.score(corpus, 0.7 * truth + 0.3 * truth[:, ::-1], weights)
    assert good["loss_flat"] < bad["loss_flat"] < good["unigram_loss"]
    assert good["loss_tree"] < good["loss_flat"]


def test_nothing_is_chosen_on_the_documents_it_is_scored_on(bench: Any, corpus: Any, truth: np.ndarray) -> None:
    """The loss of each part must be that of a setting which is best on the other part."""
    got = bench.score.score(corpus, truth, np.full(4, 0.25), tree=False)
    unigram, prior = unigram_of(corpus.unigram_totals), np.full((3, 4), 0.25)
    parts = [np.flatnonzero((corpus.test.keys >> 7) & 1 == part) for part in (0, 1)]
    tables, tokens = [], 0.0
    for rows in parts:
        losses = []
        for share in bench.score.SHARES:
            topics = (1 - share) * truth + share * unigram[:, None]
            accumulator = CompletionKernel(0).start(completion_inputs(topics, prior, bench.score.TOTALS, unigram))
            accumulator.add(bench.bench_corpus.take(corpus.test, rows))
            losses.append(accumulator.arrays()["loss"][0].sum(axis=1))
        tokens += accumulator.arrays()["hidden"].sum()
        tables.append(np.array(losses).ravel())
    expected = (tables[0][tables[1].argmin()] + tables[1][tables[0].argmin()]) / tokens
    assert got["loss_flat"] == pytest.approx(expected, rel=1e-9)


def test_losses_of_documents_add_up_and_tell_how_sure_a_difference_is(
    bench: Any, corpus: Any, truth: np.ndarray
) -> None:
    got = bench.score.score(corpus, truth, np.full(4, 0.25))
    for name in ("flat", "tree"):
        assert got[f"documents_{name}"].sum() / got["hidden"].sum() == pytest.approx(got[f"loss_{name}"])
    rng = np.random.default_rng(0)
    hidden, noise = np.full(2000, 10.0), rng.normal(0.0, 3.0, 2000)
    one = rng.normal(70.0, 20.0, 2000)                      # what two models share does not count
    apart, error = bench.score.difference(one + noise - 1.0, one, hidden)
    assert apart == pytest.approx(noise.mean() / 10 - 0.1)
    assert error == pytest.approx(3.0 / 10 / np.sqrt(2000), rel=0.1)
    assert bench.score.difference(one, one, hidden) == (0.0, 0.0)


def test_corpus_and_snapshots_survive_the_disk(bench: Any, corpus: Any, truth: np.ndarray, tmp_path: Path) -> None:
    bench.bench_corpus.save(corpus, tmp_path / "corpus.npz")
    again = bench.bench_corpus.load(tmp_path / "corpus.npz")
    assert again.paths == corpus.paths
    assert (again.train.matrix != corpus.train.matrix).nnz == 0
    tree = bench.snapshots.Tree(((), ("a",)), np.array([[0.25] * 4, [0.7, 0.1, 0.1, 0.1]]))
    snapshot = bench.peer_models.Snapshot("3 passes", 1.5, truth, np.full(4, 0.25))
    bench.snapshots.write(tmp_path / "topics", {"name": "ours", "k": 4}, snapshot, tree)
    [(facts, topics, _, read)] = bench.snapshots.read(tmp_path / "topics")
    assert (facts["name"], facts["budget"], facts["seconds"]) == ("ours", "3 passes", 1.5)
    assert np.array_equal(topics, truth)
    assert read.for_corpus(again).tolist() == [[0.25] * 4, [0.7, 0.1, 0.1, 0.1], [0.25] * 4]


@pytest.mark.parametrize("name", ["scikit-learn online", "gensim LdaMulticore", "tomotopy LDA", "tomotopy HDP"])
def test_peers_beat_the_unigram(bench: Any, corpus: Any, name: str) -> None:
    pytest.importorskip({"s": "sklearn", "g": "gensim", "t": "tomotopy"}[name[0]])
    fit, _ = bench.peer_models.PEERS[name]
    taken: list[Any] = []
    fit(corpus.train, corpus.test, 4, (100,) if name.startswith("tomotopy") else (3,), 0, taken.append)
    [snapshot] = taken
    assert snapshot.topics.min() > 0
    assert snapshot.topics.sum(axis=0) == pytest.approx(np.ones(snapshot.topics.shape[1]))
    got = bench.score.score(corpus, snapshot.topics, snapshot.weights)
    assert got["loss_flat"] < got["unigram_loss"]


def test_documents_of_small_groups_are_repeated(bench: Any, corpus: Any) -> None:
    paths = ((), ("large",), ("small",), ("large", "x"), ("small", "y"))
    nodes = np.array([1] * 150 + [3] * 50 + [2] * 20 + [4] * 50 + [0] * 130, np.int32)       # 200, 70 and 130
    given = replace(corpus, train=replace(corpus.train, nodes=nodes), paths=paths)
    train = bench.bench_corpus.groups_repeated(given)
    assert np.bincount(train.nodes).tolist() == [260, 150, 60, 50, 150]                       # 200/70 → 3, 200/130 → 2
    copies = np.array([2, 1, 3, 1, 3])[nodes]
    assert np.array_equal(train.keys, np.repeat(corpus.train.keys, copies))
    assert (train.matrix != corpus.train.matrix[np.repeat(np.arange(400), copies)]).nnz == 0
    assert set(bench.peer_models.PEERS) >= bench.peer_models.GROUPS_REPEATED


def test_rows_are_merged_by_key_and_tables_are_markdown(bench: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    before = [{"name": "a", "k": 1, "loss": 3.0}, {"name": "b", "k": 1, "loss": 2.0}]
    bench.common.merge_rows(path, before, ("name", "k"))
    bench.common.merge_rows(path, [{"name": "a", "k": 1, "loss": 1.0}], ("name", "k"), about={"x": 1})
    document = json.loads(path.read_text())
    assert sorted((row["name"], row["loss"]) for row in document["rows"]) == [("a", 1.0), ("b", 2.0)]
    assert document["about"] == {"x": 1}
    headings = {"name": "model", "loss": "loss", "own": "own"}
    table = bench.common.markdown_table([{"name": "a", "loss": 1.23456, "own": None}], headings)
    assert table == "| model | loss | own |\n|---|---|---|\n| a | 1.235 | – |\n"


def test_memory_of_a_child_counts(bench: Any) -> None:
    code = "import time; block = bytearray(200_000_000); time.sleep(1.5)"
    usage = bench.common.run_child([sys.executable, "-c", code])
    assert usage.returncode == 0
    assert 200e6 < usage.peak_bytes < 400e6
    assert usage.seconds > 1.5

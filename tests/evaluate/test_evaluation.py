"""The evaluation on Spark equals a computation without it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from spectral_spark.errors import InputError
from spectral_spark.evaluate.evaluation import evaluate
from spectral_spark.files.model_files import NodeTable, TopicModelFiles

VOCABULARY = tuple(f"w{i}" for i in range(30))
PATHS = (("a", "x"), ("a", "y"), ("b",))
MASK = 2**64 - 1


@dataclass
class FakeCorpus:
    frame: Any
    vocabulary: tuple[str, ...] = VOCABULARY

    def documents(self, split: str) -> Any:
        return self.frame.filter(f"split = '{split}'")


@pytest.fixture(scope="module")
def topics() -> np.ndarray:
    return np.random.default_rng(5).dirichlet(np.full(30, 0.3), 4).T * 0.98 + 0.02 / 30


@pytest.fixture(scope="module")
def rows(topics: np.ndarray) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(1)
    made = []
    for i in range(240):
        counts = rng.multinomial(rng.integers(1, 25), topics @ rng.dirichlet(np.full(4, 0.5)))
        terms = np.flatnonzero(counts)
        path = list(PATHS[i % 3])
        made.append((f"d{i}", path, terms.tolist(), counts[terms].tolist(), "test" if i % 4 == 0 else "train"))
    return made


@pytest.fixture(scope="module")
def model(topics: np.ndarray) -> TopicModelFiles:
    rng = np.random.default_rng(2)
    paths = ((), ("a",), ("a", "x"))
    proportions = rng.dirichlet(np.ones(4), 3)
    nodes = NodeTable(paths, np.array([240, 160, 80]), np.array([240.0, 160.0, 80.0]), proportions)
    return TopicModelFiles(topics, proportions[0], VOCABULARY, nodes, {"document_concentration": 1.5})


def corpus_of(spark: Any, rows: list[tuple[Any, ...]], partitions: int = 2) -> FakeCorpus:
    schema = "doc_id string, path array<string>, terms array<int>, counts array<int>, split string"
    return FakeCorpus(spark.createDataFrame(rows, schema).repartition(partitions, "doc_id"))


@pytest.fixture(scope="module")
def result(spark: Any, rows: list[tuple[Any, ...]], model: TopicModelFiles) -> dict[str, Any]:
    return evaluate(corpus_of(spark, rows), model, seed=3)


def mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def coin(key: int, term: int, position: int, seed: int) -> bool:
    state = mix(seed)
    for part in (key, term, position):
        state = mix(state ^ (part & MASK))
    return bool(state >> 63)


def test_losses_equal_a_plain_loop(
    spark: Any, rows: list[tuple[Any, ...]], model: TopicModelFiles, result: dict[str, Any]
) -> None:
    schema = "doc_id string"
    ids = spark.createDataFrame([(row[0],) for row in rows], schema)
    keys = dict(ids.selectExpr("doc_id", "xxhash64(doc_id)").collect())
    unigram = np.zeros(30)
    for _, _, terms, counts, split in rows:
        if split == "train":
            unigram[terms] += counts
    unigram /= unigram.sum()
    nodes, topics = model.nodes, model.topics
    sums: dict[tuple[str, ...], np.ndarray] = {}
    for name, path, terms, counts, split in rows:
        if split == "train":
            continue
        prior = nodes.proportions[{"x": 2, "y": 1}.get(path[-1], 0)]
        tokens = [(w, coin(keys[name], w, j, 3)) for w, c in zip(terms, counts, strict=True) for j in range(c)]
        observed, hidden = ([w for w, seen in tokens if seen is half] for half in (True, False))
        theta = prior.copy()
        for _ in range(50):
            share = topics[observed] * theta
            theta = ((share / share.sum(axis=1, keepdims=True)).sum(axis=0) + 1.5 * prior) / (len(observed) + 1.5)
        loss = np.array([-np.log(topics[hidden] @ theta).sum(), -np.log(unigram[hidden]).sum(), len(hidden), 1])
        for depth in range(len(path) + 1):
            sums[tuple(path[:depth])] = sums.get(tuple(path[:depth]), 0) + loss
    assert {tuple(node["path"]) for node in result["nodes"]} == set(sums)
    for node in result["nodes"]:
        loss, base, tokens, documents = sums[tuple(node["path"])]
        assert node["loss"] == pytest.approx(loss / tokens, rel=1e-10)
        assert node["unigram_loss"] == pytest.approx(base / tokens, rel=1e-10)
        assert (node["tokens"], node["documents"]) == (tokens, documents)
    assert result["loss"] == result["nodes"][0]["loss"]
    assert result["loss"] < result["unigram_loss"]


def test_coherence_equals_a_plain_loop(
    rows: list[tuple[Any, ...]], model: TopicModelFiles, result: dict[str, Any]
) -> None:
    has = np.zeros((180, 30), bool)
    for i, row in enumerate(row for row in rows if row[4] == "train"):
        has[i, row[2]] = True
    npmi, umass = [], []
    for topic in model.topics.T:
        best = np.argsort(-topic)[:10]
        for i in range(10):
            for j in range(i):
                better, worse = has[:, best[j]], has[:, best[i]]
                both, first, second = (better & worse).sum(), better.sum(), worse.sum()
                npmi.append(np.log(both * 180 / (first * second)) / -np.log(both / 180) if both else -1)
                umass.append(np.log((both + 1) / max(first, 1)))
    assert result["npmi"] == pytest.approx(np.mean(npmi))
    assert result["umass"] == pytest.approx(np.mean(umass))


def test_states_the_prior(result: dict[str, Any]) -> None:
    assert result["prior"] == {
        "concentration": 1.5, "proportions": "tree node", "iterations": 50, "smoothing": 0.0,
        "impossible_tokens": 0,
        "unigram": "training documents",
    }
    assert result["seed"] == 3


@pytest.mark.usefixtures("on_executors")
def test_same_bits_on_executors_whatever_the_partitioning(
    spark: Any, rows: list[tuple[Any, ...]], model: TopicModelFiles, result: dict[str, Any]
) -> None:
    assert evaluate(corpus_of(spark, rows[::-1], 5), model, seed=3) == result


def test_topics_with_zeros_are_smoothed_and_it_is_said(
    spark: Any, rows: list[tuple[Any, ...]], model: TopicModelFiles
) -> None:
    sparse = np.where(model.topics < 0.01, 0, model.topics)
    got = evaluate(corpus_of(spark, rows), replace(model, topics=sparse / sparse.sum(axis=0)))
    assert got["prior"]["smoothing"] == 0.01
    assert np.isfinite(got["loss"])


def test_a_corpus_without_training_documents(spark: Any, rows: list[tuple[Any, ...]], model: TopicModelFiles) -> None:
    got = evaluate(corpus_of(spark, [row for row in rows if row[4] == "test"]), model, seed=3)
    assert got["prior"]["unigram"] == "mean of the topics"
    assert np.isfinite(got["unigram_loss"])


def test_wrong_corpora_are_refused(spark: Any, rows: list[tuple[Any, ...]], model: TopicModelFiles) -> None:
    with pytest.raises(InputError, match="no test documents"):
        evaluate(corpus_of(spark, [row for row in rows if row[4] == "train"]), model)


def test_a_corpus_of_another_vocabulary_is_translated(
    spark: Any, rows: list[tuple[Any, ...]], model: TopicModelFiles
) -> None:
    turned = [(*row[:2], [len(VOCABULARY) - 1 - term for term in row[2]], *row[3:]) for row in rows]
    other = corpus_of(spark, turned)
    other.vocabulary = tuple(reversed(VOCABULARY))
    expected = evaluate(corpus_of(spark, rows), model)["loss"]
    assert evaluate(other, model)["loss"] == pytest.approx(expected, rel=1e-9)

"""Document completion against computations that share no code with it."""

import tracemalloc

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import binom, kstest

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.errors import InputError
from spectral_spark.refine import completion
from spectral_spark.refine.completion import CompletionKernel, completion_inputs, halve, unigram_of
from spectral_spark.solve.reconstruct import smoothed_topics


def batch_of(rows: list[dict[int, int]], vocab_size: int, nodes: list[int] | None = None, first: int = 0) -> CountBatch:
    terms = [term for row in rows for term in row]
    counts = [count for row in rows for count in row.values()]
    return CountBatch(
        np.cumsum([0, *map(len, rows)]), np.array(terms, np.int32), np.array(counts, float),
        np.array(nodes if nodes is not None else [0] * len(rows), np.int32),
        np.arange(first, first + len(rows), dtype=np.int64) * 7919 - 3, vocab_size,
    )


def simulated(n: int, topics: np.ndarray, prior: np.ndarray, seed: int, length: int = 60) -> CountBatch:
    rng = np.random.default_rng(seed)
    rows: list[dict[int, int]] = []
    for _ in range(n):
        words = rng.multinomial(length, topics @ rng.dirichlet(prior))
        rows.append({int(w): int(words[w]) for w in np.flatnonzero(words)})
    return batch_of(rows, len(topics))


def random_topics(d: int, k: int, seed: int, concentration: float = 0.1) -> np.ndarray:
    topics = np.random.default_rng(seed).dirichlet(np.full(d, concentration), k).T
    return smoothed_topics(topics, np.full(d, 1 / d), 0.02)


def scores(batches: list[CountBatch], shared: dict[str, np.ndarray], seed: int = 0) -> dict[str, np.ndarray]:
    accumulator = CompletionKernel(seed).start(shared)
    for batch in batches:
        accumulator.add(batch)
    return accumulator.arrays()


def test_halves_add_up_and_share_nothing() -> None:
    batch = simulated(50, random_topics(30, 3, 0), np.ones(3), 1)
    observed, hidden = halve(batch, 5)
    assert np.array_equal((observed.matrix + hidden.matrix).toarray(), batch.matrix.toarray())
    assert not np.shares_memory(observed.terms, hidden.terms)
    assert not np.shares_memory(observed.counts, batch.counts)


def test_halving_depends_only_on_seed_key_and_word() -> None:
    batch = batch_of([{0: 4, 5: 2, 7: 9}, {5: 3}, {1: 8, 0: 1}], 8)
    shuffled = CountBatch(
        np.array([0, 2, 5]), np.array([0, 1, 7, 0, 5], np.int32), np.array([1.0, 8, 9, 4, 2]),
        np.zeros(2, np.int32), batch.keys[[2, 0]], 8,
    )
    assert np.array_equal(halve(shuffled, 3)[0].matrix.toarray(), halve(batch, 3)[0].matrix.toarray()[[2, 0]])


def test_halving_is_a_fair_coin_and_changes_with_the_seed() -> None:
    batch = batch_of([dict.fromkeys(range(40), 5) for _ in range(200)], 40)
    first, second = (halve(batch, seed)[0].matrix.toarray() for seed in (0, 1))
    tokens = batch.counts.sum()
    # 40,000 fair coins: four standard deviations are 0.01
    assert first.sum() / tokens == pytest.approx(0.5, abs=0.01)
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] == pytest.approx(0, abs=0.05)
    assert first.sum(axis=0) == pytest.approx(np.full(40, 500), abs=80)


def test_halving_is_the_published_splitmix64() -> None:
    """Recomputed with Python integers, so that the split never changes unnoticed between versions."""
    mask = 2**64 - 1

    def mix(x: int) -> int:
        x = (x + 0x9E3779B97F4A7C15) & mask
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return x ^ (x >> 31)

    batch = batch_of([{2: 6, 3: 1}, {0: 11}], 4, first=-1)
    expected = np.zeros((2, 4))
    for i in range(2):
        for w, count in enumerate(batch.matrix.toarray()[i].astype(int)):
            for j in range(count):
                state = mix(9)
                for part in (int(batch.keys[i]), w, j):
                    state = mix(state ^ (part & mask))
                expected[i, w] += state >> 63
    assert np.array_equal(halve(batch, 9)[0].matrix.toarray(), expected)


def test_loss_equals_a_loop_over_tokens() -> None:
    d, k = 25, 4
    topics, prior = random_topics(d, k, 2), np.random.default_rng(3).dirichlet(np.ones(k), 3)
    batch = simulated(30, topics, np.ones(k), 4, length=15)
    batch = CountBatch(batch.indptr, batch.terms, batch.counts, np.arange(30, dtype=np.int32) % 3, batch.keys, d)
    unigram = unigram_of(np.asarray(batch.matrix.sum(axis=0)).ravel())
    got = scores([batch], completion_inputs(topics, prior, [0.7, 3.0], unigram))
    observed, hidden = halve(batch, 0)
    loss, base, tokens = np.zeros((2, 3)), np.zeros(3), np.zeros(3)
    for i in range(30):
        seen, unseen, node = observed.matrix.toarray()[i], hidden.matrix.toarray()[i], i % 3
        for g, total in enumerate([0.7, 3.0]):
            theta = prior[node].copy()
            for _ in range(50):
                shares = np.zeros(k)
                for w in range(d):
                    shares += seen[w] * topics[w] * theta / (topics[w] @ theta)
                theta = (shares + total * prior[node]) / (seen.sum() + total)
            loss[g, node] -= sum(unseen[w] * np.log(topics[w] @ theta) for w in range(d))
        base[node] -= sum(unseen[w] * np.log(unigram[w]) for w in range(d))
        tokens[node] += unseen.sum()
    assert got["loss"][0] == pytest.approx(loss, rel=1e-10)
    assert got["unigram_loss"] == pytest.approx(base, rel=1e-12)
    assert np.array_equal(got["hidden"], tokens)
    assert np.array_equal(got["documents"], [10, 10, 10])
    assert np.array_equal(got["hidden"] + got["observed"], np.bincount(batch.nodes, batch.lengths))


def test_inference_is_near_the_exact_posterior_mean() -> None:
    """Two topics: the posterior is an integral over one number."""
    topics = random_topics(12, 2, 5, 0.5)
    batch = simulated(20, topics, np.full(2, 1.0), 6, length=80)
    prior, total = np.array([[0.4, 0.6]]), 2.0
    got = scores([batch], completion_inputs(topics, prior, total, np.full(12, 1 / 12)))
    observed, hidden = (half.matrix.toarray() for half in halve(batch, 0))
    exact = 0.0
    for seen, unseen in zip(observed, hidden, strict=True):

        def density(x: float, seen: np.ndarray = seen) -> float:
            words = seen @ np.log(topics @ np.array([x, 1 - x]))
            return float(np.exp(words - seen @ np.log(topics.mean(axis=1))) * x**-0.2 * (1 - x) ** 0.2)

        mass = integrate.quad(density, 0, 1, limit=200)[0]
        mean = integrate.quad(lambda x, f=density: x * f(x), 0, 1, limit=200)[0] / mass
        exact -= unseen @ np.log(topics @ np.array([mean, 1 - mean]))
    # the fixed point replaces the posterior of each token's topic by its plug-in value: within a hundredth of a nat
    assert got["loss"][0, 0, 0] / got["hidden"][0] == pytest.approx(exact / got["hidden"][0], abs=0.01)


def test_truth_has_the_lowest_loss_and_nothing_falls_below_entropy() -> None:
    d, k = 60, 5
    truth, prior = random_topics(d, k, 7), np.full(k, 0.4)
    batches = [simulated(400, truth, prior, seed) for seed in (8, 9)]
    unigram = unigram_of(sum(np.asarray(b.matrix.sum(axis=0)).ravel() for b in batches))
    node_prior = np.full((1, k), 1 / k)
    losses = {}
    for share in (0.0, 0.1, 0.3, 1.0):
        candidate = (1 - share) * truth + share * random_topics(d, k, 10)
        got = scores(batches, completion_inputs(candidate, node_prior, prior.sum(), unigram))
        losses[share] = got["loss"][0, 0, 0] / got["hidden"][0]
    assert losses[0.0] < losses[0.1] < losses[0.3] < losses[1.0]
    entropy = mean_entropy(truth, prior)
    assert entropy < losses[0.0] < got["unigram_loss"][0] / got["hidden"][0]


def mean_entropy(topics: np.ndarray, prior: np.ndarray) -> float:
    """Entropy of a word given its document's true proportions: no predictor can do better on average."""
    theta = np.random.default_rng(0).dirichlet(prior, 4000).T
    words = topics @ theta
    return float(-(words * np.log(words)).sum(axis=0).mean())


def test_one_topic_equal_to_the_unigram_has_the_unigram_loss() -> None:
    batch = simulated(40, random_topics(20, 3, 1), np.ones(3), 2)
    unigram = unigram_of(np.asarray(batch.matrix.sum(axis=0)).ravel())
    got = scores([batch], completion_inputs(unigram[:, None], np.ones((1, 1)), 1.0, unigram))
    assert got["loss"][0, 0] == pytest.approx(got["unigram_loss"], rel=1e-12)


def test_document_with_nothing_observed_is_scored_with_its_prior() -> None:
    topics, prior = random_topics(10, 3, 4), np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    batch = batch_of([{word: 1} for word in range(10)], 10, nodes=[0, 1] * 5)
    got = scores([batch], completion_inputs(topics, prior, 1.5, np.full(10, 0.1)))
    unseen = halve(batch, 0)[1].lengths > 0
    expected = [-np.log(topics[i] @ prior[i % 2]) for i in range(10) if unseen[i]]
    assert got["loss"].sum() == pytest.approx(sum(expected), rel=1e-12)
    assert got["documents"].sum() == 10
    assert got["hidden"].sum() == unseen.sum()


def test_candidates_are_scored_independently_and_batches_do_not_matter() -> None:
    first, second = random_topics(20, 3, 1), random_topics(20, 3, 2)
    batches = [simulated(30, first, np.ones(3), seed) for seed in (1, 2)]
    unigram, prior = np.full(20, 0.05), np.full((1, 3), 1 / 3)
    alone = [scores(batches, completion_inputs(t, prior, 1.0, unigram))["loss"][0] for t in (first, second)]
    both = completion_inputs(first, prior, 1.0, unigram)
    both |= {"topics": np.stack([first, second]), "node_prior": np.stack([prior, prior])}
    assert scores(batches, both)["loss"] == pytest.approx(np.stack(alone), rel=1e-12)
    parts = [scores([batch], both)["loss"] for batch in batches]
    assert scores(batches, both)["loss"] == pytest.approx(sum(parts), rel=1e-12)


def test_zero_probabilities_are_refused_not_skipped() -> None:
    topics = np.array([[1.0, 0.5], [0.0, 0.5]])
    with pytest.raises(InputError, match=r"'topics'.*smooth"):
        scores([], completion_inputs(topics, np.full((1, 2), 0.5), 1.0, np.full(2, 0.5)))
    safe = smoothed_topics(topics, np.full(2, 0.5))
    assert safe.min() > 0
    assert safe.sum(axis=0) == pytest.approx(np.ones(2))
    assert unigram_of(np.array([0.0, 4.0])) == pytest.approx([1 / 9, 8 / 9])


def test_halving_needs_no_memory_for_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of two thousand million are split fairly; the words beside them get the same coins as without them."""
    counts = {0: 4, 1: 2_000_000_000, 2: 2_147_483_647, 3: 40_000, 4: 1_000_000}
    batch = batch_of([counts, {0: 3, 1: 1_999_999_999}], 5)
    tracemalloc.start()
    observed, hidden = halve(batch, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20
    assert np.array_equal((observed.matrix + hidden.matrix).toarray(), batch.matrix.toarray())
    for word, count in counts.items():
        assert abs(observed.matrix[0, word] - count / 2) < 5 * np.sqrt(count) / 2 + 1
    ordinary = batch_of([{0: 4, 3: 40_000}, {0: 3}], 5)
    expected = halve(ordinary, 5)[0].matrix.toarray()
    assert np.array_equal(observed.matrix.toarray()[:, [0, 3]], expected[:, [0, 3]])
    monkeypatch.setattr(completion, "_TOKENS_AT_ONCE", 7)
    assert np.array_equal(halve(batch, 5)[0].counts, observed.counts)


def test_large_counts_are_split_as_a_binomial(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 1 << 20
    observed = halve(batch_of([{0: n} for _ in range(2000)], 1), 0)[0].counts
    # the sample's Kolmogorov distance stays below its 99.9% quantile, 1.95 / sqrt(2000)
    assert kstest(observed, binom(n, 0.5).cdf).statistic < 1.95 / np.sqrt(2000)

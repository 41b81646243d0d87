"""One function per peer library: fit on the training documents, hand out topics at every budget.

Each peer gets two threads or processes where it can use them, settings its documentation or community recommends, and
learns its document prior where it offers that. Time is counted inside the library's own training calls; turning the
counts into the form a library wants is timed apart (``prepare``).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from spectral_spark.data.count_batch import CountBatch

THREADS = 2


@dataclass
class Clock:
    """Adds up the seconds spent inside ``with clock.running():``."""

    seconds: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start


@dataclass
class Snapshot:
    """Topics of a peer after some budget.

    Attributes
    ----------
    budget : what was spent, in the peer's own unit.
    seconds : training time so far.
    topics : array of shape (d, k), columns sum to one, strictly positive.
    weights : array of shape (k,), the peer's own document prior or topic shares, sums to one.
    own : the peer's own score(s) where it has any.
    """

    budget: str
    seconds: float
    topics: np.ndarray
    weights: np.ndarray
    own: dict[str, float] = field(default_factory=dict)
    prepare_seconds: float = 0.0


Emit = Callable[[Snapshot], None]


def scikit_online(train: CountBatch, test: CountBatch, k: int, budgets: Sequence[int], seed: int, emit: Emit) -> None:
    """scikit-learn LatentDirichletAllocation, online; budgets are passes."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        k, learning_method="online", batch_size=256, learning_offset=20.0, learning_decay=0.7,
        total_samples=train.n_documents, n_jobs=1, random_state=seed,
    )
    rng, clock = np.random.default_rng(seed), Clock()
    for done in range(1, max(budgets) + 1):
        rows = train.matrix[rng.permutation(train.n_documents)]
        with clock.running():
            model.partial_fit(rows)
        if done in budgets:
            topics = np.asarray(model.components_).T
            own = {"perplexity on the test documents": float(model.perplexity(test.matrix))}
            emit(Snapshot(f"{done} passes", clock.seconds, columns(topics), shares(topics.sum(axis=0)), own))


def gensim_multicore(
    train: CountBatch, test: CountBatch, k: int, budgets: Sequence[int], seed: int, emit: Emit
) -> None:
    """gensim LdaMulticore with two worker processes; budgets are passes."""
    from gensim.models import LdaMulticore

    preparing, clock = Clock(), Clock()
    with preparing.running():
        documents, held_out = _bags(train), _bags(test)
    with clock.running():
        model = LdaMulticore(
            num_topics=k, id2word=_identity(train.vocab_size), workers=THREADS, chunksize=2000, passes=1,
            alpha="asymmetric", eta="auto", random_state=seed, eval_every=None,
        )
    for done in range(1, max(budgets) + 1):
        with clock.running():
            model.update(documents)
        if done in budgets:
            own = {"log2 perplexity bound on the test documents": -float(model.log_perplexity(held_out)) / np.log(2)}
            topics = columns(model.get_topics().T.astype(np.float64))
            emit(Snapshot(f"{done} passes", clock.seconds, topics, shares(model.alpha), own, preparing.seconds))


def gensim_hdp(train: CountBatch, test: CountBatch, k: int, budgets: Sequence[int], seed: int, emit: Emit) -> None:
    """gensim HdpModel; it finds its own number of topics below the truncation, so k is not used."""
    from gensim.models import HdpModel

    preparing, clock = Clock(), Clock()
    with preparing.running():
        documents = _bags(train)
    model: Any = None
    for done in range(1, max(budgets) + 1):
        with clock.running():
            if model is None:
                model = HdpModel(documents, _identity(train.vocab_size), random_state=seed)
            else:
                model.update(documents)
        if done in budgets:
            weights, topics = model.hdp_to_lda()
            emit(Snapshot(f"{done} passes", clock.seconds, columns(np.asarray(topics, float).T), shares(weights),
                          prepare_seconds=preparing.seconds))


def tomotopy_lda(train: CountBatch, test: CountBatch, k: int, budgets: Sequence[int], seed: int, emit: Emit) -> None:
    """tomotopy LDAModel (collapsed Gibbs in C++) with its default priors, document prior learnt; budgets are sweeps."""
    import tomotopy

    _tomotopy(tomotopy.LDAModel(k=k, seed=seed), train, budgets, emit)


def tomotopy_tuned(train: CountBatch, test: CountBatch, k: int, budgets: Sequence[int], seed: int, emit: Emit) -> None:
    """The same with priors that gave it a lower loss in a small search: word prior 0.1, document prior from 1/k."""
    import tomotopy

    _tomotopy(tomotopy.LDAModel(k=k, alpha=1 / k, eta=0.1, seed=seed), train, budgets, emit)


def tomotopy_hdp(train: CountBatch, test: CountBatch, k: int, budgets: Sequence[int], seed: int, emit: Emit) -> None:
    """tomotopy HDPModel, started with k topics, free to add and drop; budgets are sweeps."""
    import tomotopy

    _tomotopy(tomotopy.HDPModel(initial_k=k, seed=seed), train, budgets, emit)


def _tomotopy(model: Any, train: CountBatch, budgets: Sequence[int], emit: Emit) -> None:
    preparing, clock, done = Clock(), Clock(), 0
    with preparing.running():
        for i in range(train.n_documents):
            span = slice(train.indptr[i], train.indptr[i + 1])
            words = np.repeat(train.terms[span], train.counts[span].astype(int))
            if len(words):
                model.add_doc([str(word) for word in words])
    for budget in budgets:
        with clock.running():
            model.train(budget - done, workers=THREADS)
        done = budget
        alive = [t for t in range(model.k) if not hasattr(model, "is_live_topic") or model.is_live_topic(t)]
        known = np.array([int(word) for word in model.used_vocabs])
        topics = np.full((train.vocab_size, len(alive)), 1e-9)
        for column, topic in enumerate(alive):
            topics[known, column] = model.get_topic_word_dist(topic)
        counts = np.asarray(model.get_count_by_topics(), float)[alive]
        weights = np.asarray(model.alpha, float) if np.size(model.alpha) == len(alive) else counts
        own = {"training log likelihood per word": float(model.ll_per_word)}
        emit(Snapshot(f"{budget} sweeps", clock.seconds, columns(topics), shares(weights), own, preparing.seconds))


def _bags(batch: CountBatch) -> list[list[tuple[int, int]]]:
    terms, counts = batch.terms.tolist(), batch.counts.astype(int).tolist()
    ends = batch.indptr.tolist()
    return [list(zip(terms[a:b], counts[a:b], strict=True)) for a, b in pairwise(ends)]


def _identity(size: int) -> dict[int, str]:
    return {i: str(i) for i in range(size)}


def columns(topics: np.ndarray) -> np.ndarray:
    """Positive columns that sum to one."""
    positive = np.maximum(topics, 1e-12)
    return positive / positive.sum(axis=0)


def shares(weights: np.ndarray) -> np.ndarray:
    """Positive numbers that sum to one."""
    positive = np.maximum(np.asarray(weights, np.float64), 1e-10)
    return positive / positive.sum()


Fit = Callable[[CountBatch, CountBatch, int, Sequence[int], int, Emit], None]

PEERS: dict[str, tuple[Fit, tuple[int, ...]]] = {
    "scikit-learn online": (scikit_online, (1, 3)),
    "gensim LdaMulticore": (gensim_multicore, (1, 3)),
    "gensim HdpModel": (gensim_hdp, (1,)),
    "tomotopy LDA": (tomotopy_lda, (50, 200, 500)),
    "tomotopy LDA, tuned": (tomotopy_tuned, (50, 200, 500)),
    "tomotopy LDA, groups repeated": (tomotopy_tuned, (50, 200)),
    "tomotopy HDP": (tomotopy_hdp, (50, 150)),
}
# Given the training documents with those of smaller groups several times (``bench_corpus.groups_repeated``), the only
# way for a sampler without document weights to serve groups alike.
GROUPS_REPEATED = {"tomotopy LDA, groups repeated"}

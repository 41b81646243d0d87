"""Chooses among candidate concentrations by their held-out loss on a sample of the documents.

Concentrations that are calibrated from the moments are wrong for real text, whose words are bursty. The topics of every
candidate are therefore scored by document completion on a sample of the corpus: in one short pass for all candidates,
or, if the topics are large, in one pass per candidate.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.refine.completion import CompletionKernel, without_zeros
from spectral_spark.solve.reconstruct import positive_words, smoothed_topics
from spectral_spark.solve.topic_solution import TopicSolution

SCORED_DOCUMENTS = 2048
DOCUMENT_TOTALS = (0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, eq=False)
class Choice:
    """The losses of all candidates, each with the total document prior that suits it best.

    Attributes
    ----------
    losses : array of shape (candidates,), nats per hidden word on the sample.
    document_concentrations : array of shape (candidates,), the total document prior with which the loss was lowest.
    unigram_loss : the loss of the word frequencies alone.
    """

    losses: np.ndarray
    document_concentrations: np.ndarray
    unigram_loss: float


def score_candidates(
    corpus: CountedCorpus, solutions: Sequence[TopicSolution], priors: Sequence[np.ndarray], mean_words: np.ndarray,
    run: FitRun, seed: int, *, step: str = "choose",
) -> Choice:
    """Score candidate solutions on a sample of the documents.

    Parameters
    ----------
    priors : for each solution the proportions of every node, arrays of shape (nodes, k).
    mean_words : array of shape (d,), the corpus mean.
    step : name of the checkpoint.
    """
    unigram = positive_words(mean_words)
    shared = {
        "topics": _stacked([smoothed_topics(solution.topics, unigram) for solution in solutions]),
        "node_prior": np.stack([without_zeros(prior) for prior in priors]),
        "concentration": np.array(DOCUMENT_TOTALS),
        "unigram": unigram,
    }

    def compute() -> dict[str, np.ndarray]:
        started = time.perf_counter()
        sums = corpus.packed.sum(
            CompletionKernel(seed, iterations=20), shared, name="choose concentrations",
            rounds=corpus.rounds_for(SCORED_DOCUMENTS),
        )
        run.finished_pass("choose concentrations", int(sums["documents"].sum()), started)
        alone = {name: sums[name].sum(keepdims=True) for name in ("hidden", "unigram_loss")}
        return {"loss": sums["loss"].sum(axis=2), **alone}

    sums = run.resumable(step, compute)
    hidden = max(float(sums["hidden"][0]), 1.0)
    losses = sums["loss"] / hidden
    totals = np.array(DOCUMENT_TOTALS)[losses.argmin(axis=1)]
    return Choice(losses.min(axis=1), totals, float(sums["unigram_loss"][0]) / hidden)


def _stacked(arrays: list[np.ndarray]) -> np.ndarray:
    return arrays[0][None] if len(arrays) == 1 else np.stack(arrays)        # one may be large: no copy

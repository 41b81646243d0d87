"""After the first of several passes of refinement: which topics make room for others, and whether that was right.

Both questions are asked of a sample of the documents: what each topic is worth there, before, and one pass later
whether the moved topics predict it better than those before did. If not, the refinement goes on from where it was.
"""

from dataclasses import dataclass, replace

import numpy as np

from spectral_spark.engine.census import CensusResult
from spectral_spark.engine.passes import run_pass
from spectral_spark.evaluate.completion import CompletionKernel
from spectral_spark.ml.choosing import sample_rounds, without_zeros
from spectral_spark.ml.collecting import Run
from spectral_spark.refine.reseed import reseed
from spectral_spark.refine.settings import RefineSettings
from spectral_spark.refine.state import RefineState
from spectral_spark.refine.value import TopicValueKernel


@dataclass(frozen=True, eq=False)
class Reseeding:
    """The state before topics were moved, the one to go on with, and the columns of the moved topics."""

    before: RefineState
    state: RefineState
    moved: list[int]


def reseed_topics(state: RefineState, corpus: CensusResult, options: RefineSettings, seed: int, run: Run) -> Reseeding:
    """Measure the topics and move the least valuable."""

    def compute() -> dict[str, np.ndarray]:
        shared = {
            "topics": state.topics(options.smoothing), "node_prior": state.hierarchy.proportions,
            "concentration": np.full(len(state.parent), state.document_concentration),
        }
        return run_pass(
            corpus.packed, TopicValueKernel(), shared, name="value of topics", rounds=sample_rounds(corpus),
            progress=run.progress,
        )

    values = run.checkpoints.remember("values", compute)["values"]
    after, moved = reseed(state, values, options, seed)
    return Reseeding(state, after, moved)


def better_of(
    reseeding: Reseeding, after: RefineState, corpus: CensusResult, options: RefineSettings, seed: int, run: Run
) -> tuple[RefineState, list[int]]:
    """``after`` a pass with moved topics and which they are; or the state before, if it predicts the sample better."""
    candidates = [reseeding.before, after]

    def compute() -> dict[str, np.ndarray]:
        shared = {
            "topics": np.stack([state.topics(options.smoothing) for state in candidates]),
            "node_prior": np.stack([without_zeros(state.hierarchy.proportions) for state in candidates]),
            "concentration": np.array([after.document_concentration]),
            "unigram": _unigram(after),
        }
        sums = run_pass(
            corpus.packed, CompletionKernel(seed, iterations=20), shared, name="moved topics",
            rounds=sample_rounds(corpus), progress=run.progress,
        )
        return {"loss": sums["loss"].sum(axis=(1, 2))}

    old, new = run.checkpoints.remember("moved", compute)["loss"]
    if new < old:
        return after, reseeding.moved
    return replace(reseeding.before, rounds=after.rounds, passes=after.passes), []


def _unigram(state: RefineState) -> np.ndarray:
    words: np.ndarray = state.statistics.sum(axis=1) + 0.5
    return words / words.sum()

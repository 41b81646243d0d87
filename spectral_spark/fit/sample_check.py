"""Check: how well a model fits documents, measured on a sample of them in one short pass.

Two numbers are measured. The share of second-moment energy outside the basis compares the second moment, applied to
random directions, with its projection onto the basis; it uses products of two half samples, so that the noise of a
small sample cancels. The loss is that of document completion under the model's topics.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectral_spark.data.kernel import CompositeKernel, joined, part
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.range_finder import RangeKernel, apply_second_moment
from spectral_spark.refine.completion import CompletionKernel, completion_inputs, without_zeros
from spectral_spark.solve.reconstruct import likely_topics, positive_words

SAMPLE_DOCUMENTS = 4096
PROBES = 8
UNSEEN_LIMIT, ENERGY_LIMIT, LOSS_LIMIT = 0.1, 0.15, 0.5


def sample_check(
    corpus: CountedCorpus, basis: Basis, topics: Topics, run: FitRun, *, cap: int | None, by_length: bool, seed: int
) -> dict[str, float]:
    """``loss`` and ``energy_outside`` on a sample of the corpus."""
    d = basis.vocab_size
    probe = basis.scale[:, None] * np.random.default_rng([seed, 7]).standard_normal((d, PROBES))
    mean = positive_words(topics.topics @ topics.weights)
    kernel = CompositeKernel({"energy": RangeKernel(d, cap, by_length), "loss": CompletionKernel(seed, iterations=20)})
    shared = joined({
        "energy": {"probe": probe, "factor": np.ones(len(corpus.census.tree))},
        "loss": completion_inputs(
            likely_topics(topics.topics, mean), without_zeros(topics.node_proportions), topics.document_concentration,
            mean,
        ),
    })

    def compute() -> dict[str, np.ndarray]:
        started = time.perf_counter()
        rounds = corpus.rounds_for(SAMPLE_DOCUMENTS)
        halves = corpus.packed.sum_halves(kernel, shared, name="sample check", rounds=rounds)
        both = {name: halves[0][name] + halves[1][name] for name in halves[0] if name.startswith("loss/")}
        run.finished_pass("sample check", int(both["loss/documents"].sum()), started)
        loss = both["loss/loss"].sum() / max(both["loss/hidden"].sum(), 1.0)
        outside = _energy_outside(*(part(half, "energy") for half in halves), basis=basis, probe=probe)
        return {"result": np.array([loss, outside])}

    loss, outside = run.resumable("sample check", compute)["result"]
    return {"loss": float(loss), "energy_outside": float(outside)}


def _energy_outside(
    one: dict[str, np.ndarray], other: dict[str, np.ndarray], *, basis: Basis, probe: np.ndarray
) -> float:
    if min(one["totals"][0], other["totals"][0]) <= 0:
        return 0.0
    images = [basis.scale[:, None] * apply_second_moment(sums, probe) for sums in (one, other)]
    outside = [image - basis.directions @ (basis.directions.T @ image) for image in images]
    whole = float((images[0] * images[1]).sum())
    return float(np.clip((outside[0] * outside[1]).sum() / whole, 0.0, 1.0)) if whole > 0 else 0.0


@dataclass(frozen=True)
class Drift:
    """How much new documents differ from those that the model was fitted to.

    Attributes
    ----------
    unseen_share : share of the new documents' words that the vocabulary lacks.
    energy_outside, energy_outside_before : second-moment energy outside the basis, now and when the model was fitted.
    loss, loss_before : nats per word on a sample, now and when the model was fitted.
    cut_share : share of the new documents' words that the vocabulary leaves out on purpose; these are not unseen.
    """

    unseen_share: float
    energy_outside: float
    energy_outside_before: float | None
    loss: float
    loss_before: float | None
    cut_share: float = 0.0

    def warnings(self) -> list[str]:
        """One sentence for every limit that is exceeded."""
        found = []
        if self.unseen_share > UNSEEN_LIMIT:
            share = f"{self.unseen_share:.0%}"
            found.append(f"{share} of the new words are not in the vocabulary (limit {UNSEEN_LIMIT:.0%})")
        if self.energy_outside - (self.energy_outside_before or 0.0) > ENERGY_LIMIT:
            found.append(
                f"{self.energy_outside:.0%} of the second-moment energy is outside the basis, "
                f"{self.energy_outside_before or 0.0:.0%} when it was made (limit {ENERGY_LIMIT:.0%} more)"
            )
        if self.loss_before is not None and self.loss - self.loss_before > LOSS_LIMIT:
            found.append(
                f"the loss on the new documents is {self.loss:.3f} nats per word, {self.loss_before:.3f} on the old "
                f"ones (limit {LOSS_LIMIT:g} more)"
            )
        return found

    def as_dict(self) -> dict[str, Any]:
        warnings = self.warnings()
        return {
            "unseen_share": self.unseen_share, "cut_share": self.cut_share, "energy_outside": self.energy_outside,
            "energy_outside_before": self.energy_outside_before, "loss": self.loss, "loss_before": self.loss_before,
            "drifted": bool(warnings), "warnings": warnings,
        }

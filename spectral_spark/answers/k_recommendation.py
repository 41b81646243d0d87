"""What was measured for every number of topics, and which one to take."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

STABLE = 0.5                 # the share of topics that must come back from another seed
AS_GOOD = 0.01               # nats per word: a smaller difference of losses does not justify more topics


@dataclass(frozen=True)
class KResult:
    """One number of topics.

    Attributes
    ----------
    k : topics that the model has; asked : what was asked for, a number or "auto".
    loss, unigram_loss : document completion on held-out documents, nats per word.
    npmi, exclusivity : means over the topics.
    seed_return, half_return : shares of the topics that come back from another seed, and from the other half of the
        documents (the topics of one half that are found again in the other).
    seconds : what its fits took.
    """

    k: int
    asked: str
    loss: float
    unigram_loss: float
    npmi: float
    exclusivity: float
    seed_return: float
    half_return: float
    seconds: float

    @property
    def returning(self) -> float:
        """How many topics come back from another seed."""
        return self.k * self.seed_return


@dataclass(frozen=True)
class KChoice:
    """The measurements, in the order of k, and the recommended number of topics with the reason for it."""

    results: tuple[KResult, ...]
    recommended: int
    reason: str

    def rows(self) -> list[dict[str, Any]]:
        """One row per number of topics, ready for tables and JSON."""
        return [{**asdict(result), "recommended": result.k == self.recommended} for result in self.results]


def recommended(results: Sequence[KResult], stable: float = STABLE) -> KChoice:
    """The lowest loss among the k at which enough topics come back from another seed; of losses that hardly differ, the
    fewest topics."""
    ordered = tuple(sorted(results, key=lambda result: result.k))
    steady = [result for result in ordered if result.seed_return >= stable]
    if not steady:
        best = max(ordered, key=lambda result: (result.seed_return, -result.k))
        reason = (f"at no number of topics do {stable:.0%} of them come back from another seed; at {best.k} most do, "
                  f"{best.seed_return:.0%}")
        return KChoice(ordered, best.k, reason)
    least = min(result.loss for result in steady)
    best = next(result for result in steady if result.loss <= least + AS_GOOD)
    return KChoice(ordered, best.k, _reason(best, steady, ordered, stable))


def _reason(best: KResult, steady: Sequence[KResult], ordered: Sequence[KResult], stable: float) -> str:
    parts = [f"{best.seed_return:.0%} of {best.k} topics come back from another seed and {best.half_return:.0%} from "
             f"the other half of the documents, and the held-out loss is {best.loss:.3f}"]
    fewer = [result for result in steady if result.k < best.k]
    if fewer:
        parts.append(f"{fewer[-1].k} topics lose {fewer[-1].loss - best.loss:.3f} nats per word more")
    more = [result for result in ordered if result.k > best.k]
    for result in more[:1]:
        if result.seed_return < stable:
            parts.append(f"of {result.k} topics only {result.seed_return:.0%} come back")
        else:
            parts.append(f"{result.k} topics gain no more than {AS_GOOD} nats per word "
                         f"({best.loss - result.loss:+.3f})")
    return "; ".join(parts)

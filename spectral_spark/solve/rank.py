"""Chooses the number of topics: three rules on the spectrum, each with its reason in words (formulas §8)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.moments.coefficients import HDPCoefficients
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve.corrected_moments import second_corrected
from spectral_spark.solve.document_noise import DocumentNoise, document_noise_edge, pair_noise_edge, word_variances
from spectral_spark.solve.whitening import ROUNDING, signed_spectrum, usable_rank

# The Marchenko–Pastur edge is asymptotic; real maxima exceed it by a few per cent.
EDGE_MARGIN = 1.05
NORMAL_MEDIAN = 0.6745
FEWEST_NOISE_COLUMNS = 8      # to measure the noise in, where the basis is hardly larger than k


@dataclass(frozen=True, eq=False)
class RankChoice:
    """A number of topics and the reason for it.

    Attributes
    ----------
    k : the number of topics.
    spectrum : array of shape (p,), eigenvalues of the matrix the rule looked at, signed, largest first.
    noise_floor : eigenvalues below it are noise; None if the rule has none.
    rule : "noise-floor", "gap", "paper" or "given".
    reason : one sentence.
    """

    k: int
    spectrum: np.ndarray
    noise_floor: float | None
    rule: str
    reason: str

    @property
    def above_noise(self) -> int | None:
        """The number of eigenvalues above the noise floor; None if there is no floor."""
        return None if self.noise_floor is None else int((self.spectrum > self.noise_floor).sum())


@dataclass(frozen=True, eq=False)
class RankEvidence:
    """The input of the rules.

    Attributes
    ----------
    moments : of the whole corpus.
    halves : of two half samples, or None.
    second : array of shape (p, p), S2.
    coefficients : C2 … C6 behind S2.
    lift : array of shape (d, p), from the basis to words.
    mean_words : array of shape (d,), M1.
    scale : array of shape (d,), the word scaling s of the basis, or None if unknown (M1^(−1/2) is assumed).
    document_noise : the documents' noise weights, or None.
    """

    moments: ProjectedMoments
    halves: tuple[ProjectedMoments, ProjectedMoments] | None
    second: np.ndarray
    coefficients: HDPCoefficients
    lift: np.ndarray
    mean_words: np.ndarray
    scale: np.ndarray | None = None
    document_noise: DocumentNoise | None = None


def choose_rank(rule: str, evidence: RankEvidence) -> RankChoice:
    """Apply a rule: "noise-floor", "gap" or "paper"."""
    if rule not in RULES:
        raise SettingsError(f"rank rule: {rule!r} is unknown; choose one of {', '.join(RULES)}")
    return RULES[rule](evidence)


def given_rank(k: int, evidence: RankEvidence) -> RankChoice:
    """A given k. The spectrum of S2 is reported with it and, if there are half samples, where its noise ends.

    In a basis that is hardly larger than k, the trailing directions are not all noise: the floor errs on the high side.
    """
    spectrum, vectors = signed_spectrum(evidence.second)
    solid = vectors[:, _solid(spectrum)]
    if evidence.halves is None or not solid.size:
        return RankChoice(k, spectrum, None, "given", f"k = {k} was given")
    floor = _noise_floor(evidence, evidence.halves, solid, min(k, solid.shape[1] - FEWEST_NOISE_COLUMNS))
    choice = RankChoice(k, spectrum, floor, "given", "")
    above = "all" if choice.above_noise == len(spectrum) else choice.above_noise
    why = f"k = {k} was given; {above} of the {len(spectrum)} eigenvalues exceed the noise floor {floor:.3g}"
    return replace(choice, reason=why)


def noise_floor_rank(evidence: RankEvidence) -> RankChoice:
    """Count the eigenvalues above the noise floor, then move to the widest ratio gap within ±10% of the count.

    Two half samples differ by noise alone. Its size, measured in the trailing half of the basis, times the edge of a
    random matrix over all words is where noise eigenvalues end. Needs a basis of at least 2k columns.
    """
    if evidence.halves is None:
        raise InputError("rank rule noise-floor: needs moments of two half samples; pass halves or use the rule 'gap'")
    spectrum, vectors = signed_spectrum(evidence.second)
    solid = _solid(spectrum)
    floor = _noise_floor(evidence, evidence.halves, vectors[:, solid])
    above = int((spectrum > floor).sum())
    usable = usable_rank(spectrum)
    if above == 0:
        k, why = 1, f"no eigenvalue exceeds the noise floor {floor:.3g} (the largest is {spectrum[0]:.3g}): one topic"
    else:
        lowest, highest = _near(above, int(solid.sum()))
        k = min(_widest_gap(_above_noise(spectrum[solid]), lowest, highest), usable)
        why = f"{above} eigenvalues exceed the noise floor {floor:.3g}{_from_count(above, k, lowest, highest)}"
    if 2 * above > len(spectrum):
        why += f"; more than half of the basis ({len(spectrum)} columns) is signal: a larger `basisSize` may find more"
    return RankChoice(k, spectrum, floor, "noise-floor", why)


def gap_rank(evidence: RankEvidence) -> RankChoice:
    """The largest ratio of neighbouring eigenvalues of S2 after the first."""
    spectrum, _ = signed_spectrum(evidence.second)
    clipped = _above_noise(spectrum)
    k = min(_widest_gap(clipped, 2, len(clipped) - 1), max(usable_rank(spectrum), 1))
    ratio = clipped[k - 1] / max(clipped[min(k, len(clipped) - 1)], _tiny(clipped))
    why = f"the widest gap of the spectrum, a factor {ratio:.3g}, is after number {k}"
    return RankChoice(k, spectrum, None, "gap", why)


def paper_rank(evidence: RankEvidence) -> RankChoice:
    """The paper's rule: the largest drop after the first in the spectrum of M2, uncentred and unscaled.

    Frequent words and the heaviest topics dominate it, so the rule usually finds far too few topics.
    """
    triangle = np.linalg.qr(evidence.lift).R
    spectrum, _ = signed_spectrum(triangle @ evidence.moments.second @ triangle.T)
    drops = -np.diff(spectrum)
    last = min(usable_rank(signed_spectrum(evidence.second)[0]), len(drops))
    k = 2 + int(np.argmax(drops[1:last])) if last > 1 else 1
    return RankChoice(k, spectrum, None, "paper", f"the largest drop of the uncentred spectrum is after number {k}")


RULES: Mapping[str, Callable[[RankEvidence], RankChoice]] = MappingProxyType(
    {"noise-floor": noise_floor_rank, "gap": gap_rank, "paper": paper_rank}
)


def _noise_floor(
    evidence: RankEvidence, halves: tuple[ProjectedMoments, ProjectedMoments], vectors: np.ndarray, signal: int = 0
) -> float:
    """Where noise eigenvalues end, measured in the trailing half of the eigenvectors, and beyond number ``signal``."""
    difference = _half_difference(evidence, halves)
    trailing = vectors[:, max(vectors.shape[1] // 2, signal) :]
    noise = trailing.T @ difference @ trailing
    entries = np.abs(noise[np.triu_indices(len(noise), 1)])
    deviation = float(np.median(entries)) / NORMAL_MEDIAN if len(entries) else 0.0
    if evidence.scale is None:
        variances, level = (evidence.mean_words > 0).astype(float), 1.0
    else:
        variances = word_variances(evidence.scale, evidence.mean_words)
        directions = (evidence.scale[:, None] * evidence.lift) @ trailing
        level = float((variances @ directions**2).mean())
    floor = pair_noise_edge(variances) / level * deviation
    if evidence.document_noise is not None and evidence.scale is not None:
        floor = max(floor, EDGE_MARGIN * document_noise_edge(variances, evidence.document_noise))
    return floor


def _half_difference(evidence: RankEvidence, halves: tuple[ProjectedMoments, ProjectedMoments]) -> np.ndarray:
    """S2 of one half less S2 of the other, scaled to the noise of the whole: √(f(1−f)) for a half of weight f."""
    one, other = halves
    apart = one.second - other.second
    size = float((apart * apart).sum())
    share = float(((evidence.moments.second - other.second) * apart).sum()) / size if size > 0 else 0.5
    share = float(np.clip(share, 0.0, 1.0))
    corrected = second_corrected(one, evidence.coefficients) - second_corrected(other, evidence.coefficients)
    return np.sqrt(share * (1.0 - share)) * corrected


def _solid(spectrum: np.ndarray) -> np.ndarray:
    """Which eigenvalues are more than rounding, as a bool array: a basis can have more columns than there are words."""
    return np.abs(spectrum) > ROUNDING * np.abs(spectrum).max(initial=0.0)


def _near(count: int, eigenvalues: int) -> tuple[int, int]:
    """The smallest and the largest k that the noise floor, which is itself an estimate, leaves open."""
    width = max(3, int(np.ceil(0.1 * count)))
    return max(count - width, 2), min(count + width, eigenvalues - 1)


def _from_count(above: int, k: int, lowest: int, highest: int) -> str:
    """How the count of eigenvalues became k, in words."""
    if k == above:
        return f", and the spectrum drops most sharply right after number {k}"
    if not lowest <= k <= highest:
        return f", of which {k} can be used"
    return (f"; the floor is an estimate, and of {lowest} to {highest} topics {k} were taken, because the spectrum "
            f"drops most sharply after number {k}")


def _above_noise(spectrum: np.ndarray) -> np.ndarray:
    """Clipped at the size of the last quarter, taken for noise: ratios below that, or across zero, mean nothing."""
    return np.maximum(spectrum, np.median(np.abs(spectrum[-(len(spectrum) // 4 + 1) :])))


def _widest_gap(spectrum: np.ndarray, lowest: int, highest: int) -> int:
    """The k in lowest … highest with the largest ratio of eigenvalue k to k + 1; the number of eigenvalues if fewer."""
    if highest < lowest:
        return min(max(highest, 1), len(spectrum))
    values = np.maximum(spectrum, _tiny(spectrum))
    ratios = values[:-1] / values[1:]
    return lowest + int(np.argmax(ratios[lowest - 1 : highest]))


def _tiny(spectrum: np.ndarray) -> float:
    return max(1e-9 * float(spectrum[0]), 1e-300)

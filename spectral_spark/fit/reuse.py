"""Which results of an earlier fit of the same documents a new fit can reuse."""

from dataclasses import dataclass

from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.moment_state import MomentState

# Settings that decide what the passes before the solver compute.
_OF_MOMENTS = ("weighting", "layers", "tensors", "count_cap", "word_scaling")


@dataclass(frozen=True, eq=False)
class Reused:
    """A basis, and moments in it; None if they have to be computed."""

    basis: Basis | None = None
    moments: MomentState | None = None


def reusable(moments: MomentState | None, before: FitSettings, settings: FitSettings) -> Reused:
    """The parts of an earlier fit that suit the new settings.

    A basis can be used for every k up to its size, and so can the moments, for the same documents. A larger k needs a
    larger basis: nothing is reused, and the fit starts from scratch.
    """
    if moments is None or (settings.k != "auto" and int(settings.k) > moments.basis.size):
        return Reused()
    if settings.basis_size not in ("auto", before.basis_size, moments.basis.size):
        return Reused()
    same = all(getattr(before, name) == getattr(settings, name) for name in _OF_MOMENTS)
    wanted = {settings.collects_third(moments.basis.size, words) for words in (0, moments.tokens)}
    same = same and moments.has_third in wanted
    return Reused(moments.basis, moments if same else None)

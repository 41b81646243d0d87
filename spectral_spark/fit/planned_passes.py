"""Plans the passes of a fit over the documents, for the dry run, the progress line and the report."""

from spectral_spark.fit.fit_settings import FitSettings

CANDIDATES = (0.1, 0.3, 1.0, 3.0)
GROUP_CANDIDATES = (0.1, 0.3, 1.0, 2.0, 3.5, 5.5, 8.0)      # for tensors per group, which depend on these alone
CALIBRATED = "calibrated"   # concentrations that the moments tell
AGREED = "groups agreed"    # the number that the second moments of the groups agree on
LARGE_TOPICS = 64 << 20     # bytes: candidates above this are scored one at a time


def planned_passes(settings: FitSettings, vocab_size: int, words: int, has_basis: bool = False) -> dict[str, int]:
    """The passes of a fit by what they are for, in the order they run; those that are not needed are left out.

    The basis takes at most as many as planned, and more only if more topics are found than its first size shows.
    """
    columns = settings.basis_columns(vocab_size)
    planned = {
        "census": 1,
        "basis": 0 if has_basis else settings.range_passes_at_most(columns, words),
        "rank": int(settings.grows_basis and not has_basis),
        "moments": 1,
        "concentrations": scoring_passes(settings, vocab_size),
        "sampling": int(settings.explores),
        "sampling all": int(settings.samples_all(words)),
        "refinement": settings.passes(words) + settings.settling(words),
        "check": 1,
    }
    return {name: passes for name, passes in planned.items() if passes}


def scoring_passes(settings: FitSettings, vocab_size: int) -> int:
    """Number of short passes for choosing among candidates, as far as it is known before the number of topics."""
    if not settings.scores_candidates:
        return 0
    large = settings.k != "auto" and 8 * vocab_size * int(settings.k) > LARGE_TOPICS
    if not large:
        return 1
    if settings.tensors == "groups":
        return len(CANDIDATES)
    return 2 * len(CANDIDATES) + 1 + (len(GROUP_CANDIDATES) + 2 if settings.tensors == "auto" else 0)

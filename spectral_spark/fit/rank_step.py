"""Rank: a basis with enough columns for a number of topics that is not known in advance.

A pass without third moments is quick. It shows how many directions stand out from the noise in the basis found so far;
where they fill most of it, the basis is widened, its passes continued, and the count repeated.
"""

from dataclasses import replace

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.memory import check_memory
from spectral_spark.errors import CapacityError
from spectral_spark.fit.basis_step import RangePasses, SettledBasis
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.moment_step import collect_moments
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.coefficients import hdp_coefficients
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.solve.solve_state import state_rank
from spectral_spark.tree.weights import NodeWeights

FILLED = 0.7                # a basis with more than this share of signal has too few columns to measure the noise in
USUAL = 0.3                 # concentration of the documents: only the direction of the mean depends on it


def basis_for_rank(
    corpus: CountedCorpus, weights: NodeWeights, settings: FitSettings, vocabulary: str, run: FitRun, source: str
) -> Basis:
    """A basis with room for all topics that stand out from the noise, and for the noise."""
    passes, columns = RangePasses(corpus, weights, settings, run), settings.basis_columns(corpus.vocab_size)
    search = SettledBasis(passes, columns, settings, vocabulary)
    plain = replace(settings, weighting="tokens" if settings.weighting == "ess" else settings.weighting)
    most = settings.most_columns(corpus.vocab_size)
    while True:
        basis = search.found()
        name = f"rank {columns}"
        found = topics_above_noise(collect_moments(corpus, basis, plain, run, source, third=False, name=name), plain)
        wider = min(2 * columns, most)
        if found <= FILLED * columns or wider <= columns or not _has_room(corpus, wider, found, run):
            return basis
        columns = wider
        search.widen(columns)


def topics_above_noise(moments: MomentState, settings: FitSettings) -> int:
    """The number of topics that the rule finds in these moments."""
    return state_rank(moments, hdp_coefficients([USUAL]), settings.rank_rule).k


def _has_room(corpus: CountedCorpus, columns: int, found: int, run: FitRun) -> bool:
    """Whether a wider basis fits into memory; a warning if not."""
    try:
        check_memory(corpus.documents, corpus.vocab_size, columns, corpus.packed.spark, k=columns // 2, third=False)
    except CapacityError:
        run.warn(f"{found} topics were found, and more may be hidden: a basis of {columns} columns, which would show "
                 "them, does not fit into memory; use a larger driver, or give `k`")
        return False
    return True

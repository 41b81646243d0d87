"""Which number of topics? Models for every k from the same moments, compared with those of another seed and of halves.

The basis and the moments are found once, for the largest k, and every model starts from them. For each k there are
four fits: two with different seeds on all documents, and one on each half of the documents. Documents are divided by a
hash of their ids, so that everything is the same in any partitioning.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spectral_spark.answers.k_recommendation import STABLE, KChoice, KResult, recommended
from spectral_spark.data.hashing import vocabulary_fingerprint
from spectral_spark.data.one_thread import one_thread
from spectral_spark.engine.choose_corpus import open_documents
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.documents import DocumentColumns, document_columns, inspect_documents
from spectral_spark.engine.memory import check_memory
from spectral_spark.engine.pack_counts import PackSettings
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.evaluate.coherence import CooccurrenceKernel, cooccurrence_inputs, npmi, top_words
from spectral_spark.evaluate.evaluation import ScoredTopics, open_scored
from spectral_spark.evaluate.exclusivity import topic_exclusivity
from spectral_spark.fit.basis_step import basis_weights, find_basis
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import SAMPLE_WORDS, FitSettings
from spectral_spark.fit.fit_topics import refined_topics
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.fit.moment_step import collect_moments
from spectral_spark.fit.planned_passes import planned_passes
from spectral_spark.fit.seed_step import check_seeds
from spectral_spark.fit.solve_step import solve_moments
from spectral_spark.fit.stability import SAME_TOPIC
from spectral_spark.fit.third_step import sample_for_solving
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.refine.completion import CompletionKernel, completion_inputs, unigram_of
from spectral_spark.solve.topic_pairs import paired_topics

AUTO = "auto"
HELD_OUT = 10                # where no test documents were set aside, every tenth document is one
_BUCKETS = 1 << 20


@dataclass(frozen=True)
class ChoiceInput:
    """Documents to choose k on.

    Attributes
    ----------
    train, test : documents; without ``test``, a tenth of ``train`` is held out.
    columns : where their words, counts, paths and ids are.
    vocabulary, vocab_size : the words, or how many there are.
    most_words : of larger corpora only a part of about so many words is used.
    """

    train: DataFrame
    test: DataFrame | None
    columns: DocumentColumns
    vocabulary: tuple[str, ...] | None = None
    vocab_size: int | None = None
    most_words: int = SAMPLE_WORDS


@dataclass(frozen=True, eq=False)
class _Start:
    """What all fits to the same documents begin with; ``vocabulary`` tells where the words of seeds are."""

    basis: Basis
    moments: MomentState
    documents: KeptSample | None
    vocabulary: tuple[str, ...] | None


@one_thread
def choose_k(
    given: ChoiceInput, settings: FitSettings, ks: Sequence[int | str], *, stable: float = STABLE,
    progress: Progress | None = None,
) -> KChoice:
    """Compare numbers of topics and recommend one.

    Parameters
    ----------
    settings : of the fits; their k is replaced.
    ks : numbers of topics, and "auto" for what the spectrum suggests.
    stable : the share of topics that must come back from another seed.
    """
    _check(ks, settings)
    numbers = [int(k) for k in ks if k != AUTO]
    check_seeds(replace(settings, k=min(numbers, default=AUTO)), given.vocabulary)
    train, test, words = _divided(given)
    run = FitRun(progress or Progress())
    parts = {name: _part(given, train, name) for name in ("all", "first half", "second half")}
    size = len(given.vocabulary) if given.vocabulary else given.vocab_size
    source = inspect_documents(parts["all"], given.columns, layers=settings.tree_layers, vocab_size=size)
    wide = replace(settings, k=max(numbers) if numbers else AUTO)
    width = wide.basis_columns(source.vocab_size)
    check_memory(source.rows, source.vocab_size, width, train.sparkSession, k=max(numbers, default=None),
                 third=wide.collects_third(width))
    run.progress.plan(_planned(wide, ks, source.vocab_size, words), source.rows)
    with open_documents(source, PackSettings(source.vocab_size, settings.cap), progress=run.progress) as corpus:
        start = _start(corpus, wide, run, source.fingerprint, None, given.vocabulary)
        asked = _resolved(ks, start, corpus, settings, run)
        seconds, models = _fits(corpus, start, settings, asked, run, (settings.seed, settings.seed + 1))
        paths = corpus.census.tree.paths
    halves = []
    for name in ("first half", "second half"):
        half = inspect_documents(parts[name], given.columns, layers=settings.tree_layers, vocab_size=source.vocab_size)
        with open_documents(half, PackSettings(half.vocab_size, settings.cap), progress=run.progress) as corpus:
            begun = _start(corpus, wide, run, half.fingerprint, start.basis, given.vocabulary)
            spent, found = _fits(corpus, begun, settings, asked, run, (settings.seed,))
            halves.append(found)
            seconds = {k: seconds[k] + spent[k] for k in asked}
    scored = {k: _scored(found[0], paths) for k, found in models.items()}
    measured = _measured(scored, parts["all"], test, given.columns, run.progress, settings.seed)
    return recommended([
        _result(name, models[k], [found[k][0] for found in halves], measured[k], seconds[k])
        for k, name in asked.items()
    ], stable)


def _result(
    asked: str, seeds: Sequence[Topics], halves: Sequence[Topics], measured: dict[str, float], seconds: float
) -> KResult:
    """What is reported about one number of topics: ``seeds`` and ``halves`` are two models each."""
    first, second = seeds
    return KResult(
        k=int(first.topics.shape[1]), asked=asked, **measured,
        exclusivity=float(topic_exclusivity(first.topics).mean()),
        seed_return=float(returning(first.topics, second.topics).mean()),
        half_return=float(returning(halves[0].topics, halves[1].topics).mean()),
        seconds=round(seconds, 1),
    )


def returning(topics: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which topics have a partner in another model, matched one to one, that is the same topic; bool of shape (k,)."""
    rows, columns, distance = paired_topics(topics, others)
    found = np.zeros(topics.shape[1], bool)
    found[rows] = distance[rows, columns] < SAME_TOPIC
    return found


def _check(ks: Sequence[int | str], settings: FitSettings) -> None:
    if not ks:
        raise SettingsError("`k` is empty; give numbers of topics, for example 20,50,100")
    for k in ks:
        if k != AUTO and (isinstance(k, str) or int(k) < 2):
            raise SettingsError(f"`k` has '{k}'; give numbers of at least 2, or auto")
    if not settings.refines:
        raise SettingsError("`refinePasses` is 0: unrefined topics say little about the number of topics; leave it out")


def _divided(given: ChoiceInput) -> tuple[DataFrame, DataFrame, int]:
    """Training documents, a part of them if they are many, test documents, and the words of the training documents."""
    train, test = given.train, given.test
    if test is None or test.isEmpty():
        bucket = F.pmod(_key(train, given.columns, 1), F.lit(HELD_OUT))
        train, test = train.filter(bucket != 0), train.filter(bucket == 0)
    _, counts, _ = document_columns(train, given.columns)
    total = F.sum(F.aggregate(counts, F.lit(0.0), lambda sum_, value: sum_ + value.cast("double")))
    words = int(train.agg(total).collect()[0][0] or 0)
    if not words:
        raise InputError("there are no words to find topics in")
    if words > given.most_words:
        share = int(_BUCKETS * given.most_words / words)
        train = train.filter(F.pmod(_key(train, given.columns, 2), F.lit(_BUCKETS)) < share)
    return train, test, min(words, given.most_words)


def _key(frame: DataFrame, columns: DocumentColumns, salt: int) -> Column:
    """A hash of every document: of its id, or of its words where it has none."""
    if columns.id:
        return F.xxhash64(F.lit(salt), F.col("`" + columns.id.replace("`", "``") + "`").cast("string"))
    return F.xxhash64(F.lit(salt), *document_columns(frame, columns))


def _part(given: ChoiceInput, train: DataFrame, name: str) -> DataFrame:
    if name == "all":
        return train
    return train.filter(F.pmod(_key(train, given.columns, 3), F.lit(2)) == int(name == "second half"))


def _planned(settings: FitSettings, ks: Sequence[int | str], vocab_size: int, words: int) -> int:
    """Passes in all: for three sets of documents a census and moments, and four fits for every k."""
    of_fit = planned_passes(settings, vocab_size, words, True)
    each = sum(passes for name, passes in of_fit.items() if name not in ("census", "moments", "check"))
    found = settings.range_passes_at_most(settings.basis_columns(vocab_size), words)
    return 3 * 2 + found + 4 * each * len(ks) + 3 + len(ks)


def _start(
    corpus: CountedCorpus, settings: FitSettings, run: FitRun, source: str, basis: Basis | None,
    vocabulary: tuple[str, ...] | None,
) -> _Start:
    """The basis, unless it is known, and the moments of these documents in it."""
    third = settings.collects_third(basis.size - 1 if basis else settings.basis_columns(corpus.vocab_size))
    documents = None if third else sample_for_solving(corpus, settings)
    if basis is None:
        basis = find_basis(corpus, basis_weights(corpus, settings), settings, vocabulary_fingerprint(vocabulary), run)
    moments = collect_moments(corpus, basis, settings, run, source, third=third)
    return _Start(basis, moments, documents, vocabulary)


def _resolved(
    ks: Sequence[int | str], start: _Start, corpus: CountedCorpus, settings: FitSettings, run: FitRun
) -> dict[int, str]:
    """The numbers of topics in ascending order, each with what was asked for."""
    asked: dict[int, str] = {}
    for k in ks:
        if k == AUTO:
            solved = solve_moments(start.moments, replace(settings, k=AUTO), corpus, run, start.documents)
            asked[int(solved.solution.k)] = AUTO
    for k in ks:
        if k != AUTO:
            asked.setdefault(int(k), str(k))
    return dict(sorted(asked.items()))


def _fits(
    corpus: CountedCorpus, start: _Start, settings: FitSettings, asked: dict[int, str], run: FitRun,
    seeds: Sequence[int],
) -> tuple[dict[int, float], dict[int, list[Topics]]]:
    """Models of every k and seed, and the seconds they took."""
    seconds, models = {}, {}
    for k in asked:
        begun = time.perf_counter()
        models[k] = [
            refined_topics(
                start.moments, corpus, replace(settings, k=k, seed=seed), run, start.documents, start.vocabulary
            )[1] for seed in seeds
        ]
        seconds[k] = time.perf_counter() - begun
    return seconds, models


def _measured(
    models: dict[int, ScoredTopics], train: DataFrame, test: DataFrame, columns: DocumentColumns, progress: Progress,
    seed: int,
) -> dict[int, dict[str, float]]:
    """Held-out loss and coherence of the model of every k: one pass over the training documents for all."""
    words = {k: top_words(model.topics) for k, model in models.items()}
    vocab_size = len(next(iter(models.values())).topics)
    union = np.unique(np.concatenate([ids.ravel() for ids in words.values()]))
    with open_scored(train, columns, vocab_size, progress) as corpus:
        counts = corpus.packed.sum(CooccurrenceKernel(), cooccurrence_inputs(union, vocab_size), name="coherence")
    unigram, found = unigram_of(counts["occurrences"]), {}
    with open_scored(test, columns, vocab_size, progress) as corpus:
        for k, model in models.items():
            found[k] = _losses(corpus, model, unigram, seed)
    for k, ids in words.items():
        coherence = npmi(np.searchsorted(union, ids), counts["together"], counts["documents"][0])
        found[k]["npmi"] = float(coherence.mean())
    return found


def _scored(model: Topics, paths: Sequence[tuple[str, ...]]) -> ScoredTopics:
    return ScoredTopics(
        model.topics, model.weights, paths, model.node_proportions, float(model.document_concentration)
    )


def _losses(corpus: CountedCorpus, model: ScoredTopics, unigram: np.ndarray, seed: int) -> dict[str, float]:
    shared = completion_inputs(model.topics, model.node_priors(corpus.census.tree), model.concentration, unigram)
    sums: dict[str, Any] = corpus.packed.sum(CompletionKernel(seed), shared, name="document completion")
    hidden = max(float(sums["hidden"].sum()), 1.0)
    return {"loss": float(sums["loss"].sum() / hidden), "unigram_loss": float(sums["unigram_loss"].sum() / hidden)}



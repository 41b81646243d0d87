"""Updates of a model: the moments are added or subtracted exactly; the topics follow and keep their identity."""

import time
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from spectral_spark.data.one_thread import one_thread
from spectral_spark.engine.checkpoints import Checkpoints, DirectoryCheckpoints, run_key
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.documents import DocumentColumns, DocumentFrame, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.files.fingerprint import fingerprint
from spectral_spark.fit.arrivals import Arrivals, DocumentTally, open_arrivals
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import FittedTopics, Topics, fitted_topics, make_summary
from spectral_spark.fit.fold_in_step import fold_in_documents, weights_in
from spectral_spark.fit.lineage import carried_lineage
from spectral_spark.fit.moment_step import can_grow, check_groups, check_room, collect_moments
from spectral_spark.fit.remember import kept_sample
from spectral_spark.fit.replay import documents_to_replay, replayed_sample, replayed_topics
from spectral_spark.fit.sample_check import Drift, sample_check
from spectral_spark.fit.seed_step import reported_seeds, seeded_numbers, seeds_first
from spectral_spark.fit.solve_step import Solved, solve_moments, with_chosen_tensors
from spectral_spark.fit.third_step import check_solvable
from spectral_spark.fit.topic_matching import describe_match, match_topics
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.moments.known_documents import KnownDocuments
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.sources import removal
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.version import __version__


@dataclass(frozen=True)
class UpdateOptions:
    """How to update.

    Attributes
    ----------
    remove : remove the documents instead of adding them.
    skip_known : skip documents that the model already has, instead of refusing the update.
    unseen_share : share of the documents' words that the model's vocabulary lacks, if it is known.
    checkpoint_dir : where finished passes are kept until the update is done.
    cut_share : share of the documents' words that the vocabulary leaves out on purpose because they are too frequent.
    """

    remove: bool = False
    skip_known: bool = False
    unseen_share: float = 0.0
    checkpoint_dir: str | None = None
    cut_share: float = 0.0


@one_thread
def update_topics(
    fitted: FittedTopics,
    frame: DataFrame,
    columns: DocumentColumns,
    options: UpdateOptions | None = None,
    *,
    replay: DataFrame | None = None,
    progress: Progress | None = None,
) -> FittedTopics:
    """A model of the documents of ``fitted`` and those in ``frame`` or, with ``remove``, without those in ``frame``.

    Parameters
    ----------
    frame : the documents, in the model's vocabulary.
    replay : old documents to refine with together with the new ones. By default the model's own sample is used; a
        model without one keeps the statistics of its old documents.
    """
    options, started = options or UpdateOptions(), time.perf_counter()
    moments, settings = growing(fitted)
    source = inspect_documents(frame, columns, layers=settings.tree_layers, vocab_size=len(fitted.topics))
    if fitted.known is None and _already(moments, source.fingerprint, options):
        return fitted
    again = None
    if replay is not None and settings.refines:
        new = None if options.remove else frame
        again = documents_to_replay(replay, new, columns, settings, source.vocab_size)
    replayed = again is not None or fitted.sample is not None
    run = FitRun(progress or Progress(), _checkpoints(fitted, moments, source, again, options))
    run.progress.plan(_planned_passes(settings, again is not None, replayed), source.rows)
    packing = PackSettings(source.vocab_size, settings.cap)
    with open_arrivals(
        source, packing, fitted.known, remove=options.remove, skip_known=options.skip_known, progress=run.progress
    ) as arrivals:
        run.finished_pass("census", source.rows, started)
        if arrivals.corpus is None:
            return unchanged(fitted, arrivals.tally)
        corpus = arrivals.corpus
        check_groups(corpus, settings)
        check_room(corpus, moments)
        name = _source_name(moments, arrivals, options)
        arriving = collect_moments(corpus, moments.basis, settings, run, name, moments, third=moments.has_third)
        total = moments - arriving if options.remove else moments + arriving
        _warn_of_lost_groups(moments, total, run)
        drift = _drift(fitted, corpus, moments, settings, run, options)
        sample = _sample_after(fitted.sample, arrivals, corpus, settings, options, third=moments.has_third)
        solved = solve_moments(total, as_before(settings, fitted, total), None, run, sample, refined=replayed)
        # documents are removed with the weights they were added with
        largest = (moments if options.remove else total).census
        weights = weights_in(largest, settings.group_balance, corpus.census.tree)
        topics = fold_in_documents(fitted, solved, total, corpus, weights, settings, run, remove=options.remove)
    topics = seeds_first(topics, fitted, settings)
    if again is not None:
        topics = replayed_topics(topics, total.census.tree, again, settings, run)
    elif sample is not None and len(sample) and settings.refines:
        topics = replayed_sample(topics, total.census.tree, sample, settings, run, frame.sparkSession)
    run.checkpoints.clear()
    run.timed("total", started)
    sign = -1 if options.remove else 1
    tokens = fitted.summary.tokens + sign * corpus.tokens
    dropped = {name: fitted.summary.dropped.get(name, 0) + sign * count for name, count in corpus.dropped.items()}
    result = finished(fitted, topics, solved, total, run, tokens, dropped, settings, drift, arrivals.tally)
    return replace(result, known=_known_after(fitted.known, arrivals, options), sample=sample)


def _source_name(moments: MomentState, arrivals: Arrivals, options: UpdateOptions) -> str:
    """The fingerprint of the documents, with a mark if the same batch was added or removed before.

    Documents are recognised one by one, so a batch may come again after all of its documents were removed.
    """
    name = arrivals.source
    if arrivals.identities is not None:
        while (removal(name) if options.remove else name) in moments.sources:
            name += "+"
    return name


def _known_after(
    known: KnownDocuments | None, arrivals: Arrivals, options: UpdateOptions
) -> KnownDocuments | None:
    if known is None or arrivals.identities is None:
        return None
    return known - arrivals.identities if options.remove else known + arrivals.identities


def _sample_after(
    sample: KeptSample | None, arrivals: Arrivals, corpus: CountedCorpus, settings: FitSettings, options: UpdateOptions,
    *, third: bool,
) -> KeptSample | None:
    """The sample with some of the added documents, or without the removed ones."""
    if sample is None or arrivals.identities is None:
        return None
    if options.remove:
        return sample.without(arrivals.identities.keys)
    arriving = kept_sample(corpus, settings, third=third)
    return sample if arriving is None else sample + arriving


def unchanged(fitted: FittedTopics, tally: DocumentTally | None) -> FittedTopics:
    """The same model, with a report of changes that says that nothing had to be done."""
    match = match_topics(fitted.topics, fitted.topics)
    changes = describe_match(match, fitted.weights, fitted.weights)
    changes["documents_before"] = changes["documents_after"] = fitted.summary.documents
    changes |= {"documents": tally.as_dict() if tally else None, "drift": None}
    return replace(fitted, changes=changes)


def _planned_passes(settings: FitSettings, again: bool, replayed: bool) -> int:
    """Census, moments and drift check; folding in, if topics are refined; and the passes of the replay."""
    small = settings.passes(0) + settings.settling(0)
    passes = 1 + small if again else 1 + RefineSettings.settling
    more = settings.explores + passes if replayed and settings.refines else 0
    return 3 + settings.refines + more


def growing(fitted: FittedTopics) -> tuple[MomentState, FitSettings]:
    """Moments and settings of a model that documents can be added to."""
    if fitted.moments is None:
        raise InputError("this model was saved without its moments, so nothing can be added; fit it again")
    if not can_grow(fitted.moments):
        raise InputError(f"this model has weighting {fitted.moments.weighting!r} but not the sums of every node, so "
                         "nothing can be added or removed; fit it again with weighting 'tokens', or with fewer layers")
    check_solvable(fitted.moments, fitted.sample)
    return fitted.moments, FitSettings.from_dict(fitted.summary.settings)


def _checkpoints(
    fitted: FittedTopics, moments: MomentState, source: DocumentFrame, again: DocumentFrame | None,
    options: UpdateOptions,
) -> Checkpoints:
    """Where finished passes are kept; the key holds everything that they depend on."""
    if not options.checkpoint_dir:
        return Checkpoints()
    model = fingerprint(fitted.topics, fitted.weights, fitted.nodes.proportions, moments.node_first)
    key = run_key(
        source.fingerprint, options.remove, again.fingerprint if again else "", model, fitted.document_concentration,
        fitted.summary.settings, moments.sources, moments.basis.fingerprint, __version__,
    )
    return DirectoryCheckpoints(options.checkpoint_dir, key)


def _warn_of_lost_groups(before: MomentState, after: MomentState, run: FitRun) -> None:
    if before.groups is None or before.groups.distinct is None:
        return
    if after.groups is not None and after.groups.distinct is None:
        run.warn(
            "averages over distinct documents of a group cannot be updated when the group changes; from now on the "
            "tensors of a group use all pairs of its documents, which is less exact for groups of fewer than about 50 "
            "documents. A new fit computes the exact ones"
        )


def _already(moments: MomentState, source: str, options: UpdateOptions) -> bool:
    """Whether there is nothing to do. Documents that would be counted twice are refused."""
    done = removal(source) in moments.sources if options.remove else source in moments.sources
    if done and not options.skip_known:
        what = "were removed from this model before" if options.remove else "are in this model already"
        raise InputError(f"these documents (fingerprint {source}) {what}; skip them with `skipKnown=True`")
    return done


def as_before(settings: FitSettings, fitted: FittedTopics, moments: MomentState) -> FitSettings:
    """The settings with the concentrations and tensors that were chosen at the fit, for a tree that has changed.

    Levels that were chosen for another depth say nothing; the documents' concentration remains.
    """
    settings = with_chosen_tensors(settings, fitted.summary.refinement, moments)
    if settings.k != "auto" and int(settings.k) > moments.basis.size:      # topics were split since the fit
        settings = replace(settings, k=moments.basis.size)
    chosen = fitted.summary.spectral_concentrations
    if len(chosen) != moments.census.tree.depth + 1:
        chosen = chosen[-1:]
    return replace(settings, concentrations=tuple(chosen)) if settings.concentrations == "auto" and chosen else settings


def _drift(
    fitted: FittedTopics, corpus: CountedCorpus, moments: MomentState, settings: FitSettings, run: FitRun,
    options: UpdateOptions,
) -> Drift:
    tree = corpus.census.tree
    proportions = tree.inherit(fitted.nodes.paths, fitted.nodes.proportions, fitted.weights)
    current = Topics(fitted.topics, fitted.weights, proportions, (), fitted.document_concentration)
    now = sample_check(
        corpus, moments.basis, current, run, cap=settings.cap, by_length=moments.weights.by_length, seed=settings.seed
    )
    before = fitted.summary.sample
    return Drift(
        options.unseen_share, now["energy_outside"], before.get("energy_outside"), now["loss"], before.get("loss"),
        options.cut_share,
    )


def finished(
    fitted: FittedTopics, topics: Topics, solved: Solved, total: MomentState, run: FitRun, tokens: int,
    dropped: dict[str, int], settings: FitSettings, drift: Drift | None, tally: DocumentTally | None = None,
) -> FittedTopics:
    """The updated model, with what has changed since the one before."""
    pinned = seeded_numbers(fitted.summary.seeds) if topics.seeds is not None else None
    match = match_topics(topics.topics, fitted.topics, pinned=pinned)
    if fitted.summary.lineage and not settings.refines:
        run.warn("an update solves the topics of this model again, because `refinePasses=0` leaves refinement out; "
                 "what was merged and split by hand is lost")
    seeds = reported_seeds(topics, match.order, settings.seeds, fitted.vocabulary, run)
    summary = make_summary(settings, total, solved.solution, topics, run, dropped, tokens)
    warnings = [*fitted.summary.extra.get("warnings", []), *run.warnings]
    chosen = {name: fitted.summary.refinement[name] for name in ("concentrations_chosen",)
              if name in fitted.summary.refinement}
    summary = replace(
        summary, refinement={**chosen, **summary.refinement}, sample=fitted.summary.sample,
        spectral_concentrations=fitted.summary.spectral_concentrations,
        extra={**fitted.summary.extra, **({"warnings": warnings} if warnings else {})},
    )
    changes: dict[str, Any] = describe_match(match, fitted.weights, topics.weights[match.order])
    changes["documents_before"], changes["documents_after"] = fitted.summary.documents, summary.documents
    changes["drift"] = drift.as_dict() if drift is not None else None
    changes["documents"] = tally.as_dict() if tally is not None else None
    changes["replay"] = topics.report.get("replay")
    lineage = carried_lineage(fitted.summary.lineage, match.previous) if settings.refines else []
    summary = replace(summary, seeds=seeds, lineage=lineage)
    result = fitted_topics(topics, total, summary, fitted.vocabulary, order=match.order)
    return replace(result, changes=changes)

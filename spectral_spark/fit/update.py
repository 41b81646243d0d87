"""Yesterday's model and today's documents: moments are added exactly, topics follow and keep their identity."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
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
from spectral_spark.fit.fit_run import Run
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import FittedTopics, Topics, fitted_topics, make_summary
from spectral_spark.fit.moment_step import can_grow, check_groups, check_room, collect_moments
from spectral_spark.fit.remember import kept_sample
from spectral_spark.fit.replay import documents_to_replay, replayed_sample, replayed_topics
from spectral_spark.fit.sample_check import Drift, sample_check
from spectral_spark.fit.solve_step import Solved, solve_moments
from spectral_spark.fit.topic_matching import describe_match, match_topics
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.moments.known_documents import KnownDocuments
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.sources import removal
from spectral_spark.refine.fold_in import FoldInKernel
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.tree.census import Census
from spectral_spark.tree.group_balance import group_weights
from spectral_spark.tree.nodes import DocumentTree
from spectral_spark.version import __version__

NODE_STRENGTH = 20.0        # how many documents' worth a node leans on its parent


@dataclass(frozen=True)
class UpdateOptions:
    """How to update.

    Attributes
    ----------
    remove : take the documents out instead of adding them.
    skip_known : give the model back unchanged when the documents are in it already, instead of refusing.
    unseen_share : share of the documents' words that the model's vocabulary lacks, where that is known.
    checkpoint_dir : keeps finished passes until the update is done.
    cut_share : share of the documents' words that the vocabulary leaves out on purpose, as too frequent.
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
    """A model of the documents of ``fitted`` and of those in ``frame`` (or without the latter).

    Parameters
    ----------
    frame : the documents, in the model's vocabulary.
    replay : documents of the model, to refine with together with the new ones; without it the statistics of the old
        documents stand for them.
    """
    options, started = options or UpdateOptions(), time.perf_counter()
    moments, settings = growing(fitted)
    source = inspect_documents(frame, columns, layers=settings.tree_layers, vocab_size=len(fitted.topics))
    if fitted.known is None and _already(moments, source.fingerprint, options):
        return fitted
    again = None
    if replay is not None and settings.refine_passes:
        new = None if options.remove else frame
        again = documents_to_replay(replay, new, columns, settings, source.vocab_size)
    replayed = again is not None or fitted.sample is not None
    run = Run(progress or Progress(), _checkpoints(fitted, moments, source, again, options))
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
        check_room(corpus, moments.basis, settings)
        name = _source_name(moments, arrivals, options)
        arriving = collect_moments(corpus, moments.basis, settings, run, name)
        total = moments - arriving if options.remove else moments + arriving
        _warn_of_lost_groups(moments, total, run)
        drift = _drift(fitted, corpus, moments, settings, run, options)
        solved = solve_moments(total, as_before(settings, fitted, total.census.tree), None, run)
        largest = (moments if options.remove else total).census       # documents leave with the weight they came with
        weights = _weights_in(largest, settings.group_balance, corpus.census.tree)
        topics = _followed(fitted, solved, total, corpus, weights, settings, run, options)
        sample = _sample_after(fitted.sample, arrivals, corpus, settings, options)
    if again is not None:
        topics = replayed_topics(topics, total.census.tree, again, settings, run)
    elif sample is not None and len(sample):
        topics = replayed_sample(topics, total.census.tree, sample, settings, run, frame.sparkSession)
    run.checkpoints.clear()
    run.timed("total", started)
    sign = -1 if options.remove else 1
    tokens = fitted.summary.tokens + sign * corpus.tokens
    dropped = {name: fitted.summary.dropped.get(name, 0) + sign * count for name, count in corpus.dropped.items()}
    result = finished(fitted, topics, solved, total, run, tokens, dropped, settings, drift, arrivals.tally)
    return replace(result, known=_known_after(fitted.known, arrivals, options), sample=sample)


def _source_name(moments: MomentState, arrivals: Arrivals, options: UpdateOptions) -> str:
    """The fingerprint of the documents, marked where the same batch has come or gone before.

    Single documents are told apart already, so a batch may come again after it was removed in other parts.
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
    sample: KeptSample | None, arrivals: Arrivals, corpus: CountedCorpus, settings: FitSettings, options: UpdateOptions
) -> KeptSample | None:
    """The sample with its share of the arriving documents, or without those that leave."""
    if sample is None or arrivals.identities is None:
        return None
    if options.remove:
        return sample.without(arrivals.identities.keys)
    arriving = kept_sample(corpus, settings)
    return sample if arriving is None else sample + arriving


def unchanged(fitted: FittedTopics, tally: DocumentTally | None) -> FittedTopics:
    """The same model, which says that there was nothing to do."""
    match = match_topics(fitted.topics, fitted.topics)
    changes = describe_match(match, fitted.weights, fitted.weights)
    changes["documents_before"] = changes["documents_after"] = fitted.summary.documents
    changes |= {"documents": tally.as_dict() if tally else None, "drift": None}
    return replace(fitted, changes=changes)


def _planned_passes(settings: FitSettings, again: bool, replayed: bool) -> int:
    """Census, moments and the drift check; folding in, if topics are refined; and what replays old documents."""
    passes = 1 + settings.all_refine_passes if again else 1 + RefineSettings.settling
    more = settings.explores + passes if replayed and settings.refine_passes else 0
    return 3 + (settings.refine_passes > 0) + more


def growing(fitted: FittedTopics) -> tuple[MomentState, FitSettings]:
    """Moments and settings of a model that documents can be added to."""
    if fitted.moments is None:
        raise InputError("this model was saved without its moments, so nothing can be added; fit it again")
    if not can_grow(fitted.moments):
        raise InputError("this model has weighting 'uniform' but not the sums of every node, so nothing can be added "
                         "or removed; fit it again with weighting 'tokens' or 'ess', or with fewer layers")
    return fitted.moments, FitSettings.from_dict(fitted.summary.settings)


def _checkpoints(
    fitted: FittedTopics, moments: MomentState, source: DocumentFrame, again: DocumentFrame | None,
    options: UpdateOptions,
) -> Checkpoints:
    """Where finished passes are kept, by everything that they depend on."""
    if not options.checkpoint_dir:
        return Checkpoints()
    model = fingerprint(fitted.topics, fitted.weights, fitted.nodes.proportions, moments.node_first)
    key = run_key(
        source.fingerprint, options.remove, again.fingerprint if again else "", model, fitted.document_concentration,
        fitted.summary.settings, moments.sources, moments.basis.fingerprint, __version__,
    )
    return DirectoryCheckpoints(options.checkpoint_dir, key)


def _warn_of_lost_groups(before: MomentState, after: MomentState, run: Run) -> None:
    if before.groups is None or before.groups.distinct is None:
        return
    if after.groups is not None and after.groups.distinct is None:
        run.warn(
            "averages over distinct documents of a group cannot follow a group that changes: tensors per group are "
            "from now on those of all documents of a group, which is less exact for groups under about 50 documents; "
            "a new fit has the exact ones"
        )


def _already(moments: MomentState, source: str, options: UpdateOptions) -> bool:
    """Whether there is nothing to do; refuses what would count twice."""
    done = removal(source) in moments.sources if options.remove else source in moments.sources
    if done and not options.skip_known:
        what = "were removed from this model before" if options.remove else "are in this model already"
        raise InputError(f"these documents (fingerprint {source}) {what}; skip them with `skipKnown=True`")
    return done


def as_before(settings: FitSettings, fitted: FittedTopics, tree: DocumentTree) -> FitSettings:
    """The settings with the concentrations that were chosen when the model was fitted, for a tree that has changed.

    Levels that were chosen for another depth say nothing; the documents' concentration remains.
    """
    chosen = fitted.summary.spectral_concentrations
    if len(chosen) != tree.depth + 1:
        chosen = chosen[-1:]
    return replace(settings, concentrations=tuple(chosen)) if settings.concentrations == "auto" and chosen else settings


def _drift(
    fitted: FittedTopics, corpus: CountedCorpus, moments: MomentState, settings: FitSettings, run: Run,
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


def _followed(
    fitted: FittedTopics, solved: Solved, total: MomentState, corpus: CountedCorpus, node_weight: np.ndarray,
    settings: FitSettings, run: Run, options: UpdateOptions,
) -> Topics:
    """Spectral topics in yesterday's order; or refined ones, moved by the statistics of the arriving documents.

    The statistics of the old documents are one sum for all groups, and keep the weights they were counted with.
    """
    if settings.refine_passes == 0:
        return ordered(solved.topics, fitted)
    start = _grown(fitted, solved, settings)
    tree = corpus.census.tree
    priors = tree.inherit(fitted.nodes.paths, _widened(fitted.nodes.proportions, start.weights), start.weights)
    shared = {
        "topics": start.topics, "node_prior": priors,
        "concentration": np.full(len(tree), fitted.document_concentration), "node_weight": node_weight,
    }

    def compute() -> dict[str, np.ndarray]:
        at = time.perf_counter()
        sums = corpus.packed.sum(FoldInKernel(), shared, name="absorb", state_bytes=start.topics.nbytes)
        run.finished_pass("absorb", corpus.documents, at)
        return sums

    sums = run.resumable("absorb", compute)
    sign = -1.0 if options.remove else 1.0
    old = start.topics * (start.weights * fitted.summary.tokens)
    smoothing = RefineSettings().final_smoothing
    statistics = np.maximum(old + sign * sums["statistics"], 0.0) + smoothing
    nodes = _node_proportions(fitted, start.weights, total, tree, sign * sums["node_counts"])
    weights = statistics.sum(axis=0)
    return Topics(
        statistics / weights, weights / weights.sum(), nodes, tuple(fitted.summary.concentrations),
        fitted.document_concentration, {"absorbed": int(sums["documents"][0])},
    )


def _weights_in(census: Census, balance: float, tree: DocumentTree) -> np.ndarray:
    """How often documents count by the sizes of the groups in ``census``, for the nodes of ``tree``; shape (nodes,)."""
    known = dict(zip(census.tree.paths, group_weights(census, balance), strict=True))
    return np.array([known[path] for path in tree.paths])


def _grown(fitted: FittedTopics, solved: Solved, settings: FitSettings) -> Topics:
    """The current topics and, where the number of topics is automatic and has grown, the ones that are new."""
    match = match_topics(solved.topics.topics, fitted.topics)
    extra = max(0, solved.topics.topics.shape[1] - fitted.topics.shape[1]) if settings.k == "auto" else 0
    fresh = [int(topic) for topic, old in zip(match.order, match.previous, strict=True) if old < 0][:extra]
    topics = np.hstack([fitted.topics, solved.topics.topics[:, fresh]])
    weights = np.concatenate([fitted.weights, solved.topics.weights[fresh]])
    return Topics(topics, weights / weights.sum(), fitted.nodes.proportions, (), fitted.document_concentration)


def _widened(proportions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Proportions of more topics: the new ones get their share of the corpus everywhere."""
    fresh = weights[proportions.shape[1] :]
    return np.hstack([proportions * (1.0 - fresh.sum()), np.tile(fresh, (len(proportions), 1))])


def _node_proportions(
    fitted: FittedTopics, weights: np.ndarray, total: MomentState, tree: DocumentTree, arrived: np.ndarray
) -> np.ndarray:
    """Proportions of all nodes of the grown tree: old and new documents together, leaning on the parent."""
    whole = total.census.tree
    new = np.zeros((len(whole), len(weights)))
    there = set(whole.paths)                # a group that lost its last document is gone
    kept = [node for node, path in enumerate(tree.paths) if path in there]
    new[whole.assign(tree.paths[node] for node in kept)] = arrived[kept]
    counts = whole.sum_below(new)
    documents = dict(zip(fitted.nodes.paths, fitted.nodes.documents, strict=True))
    known = dict(zip(fitted.nodes.paths, _widened(fitted.nodes.proportions, weights), strict=True))
    rows = np.empty((len(whole), len(weights)))
    for node, path in enumerate(whole.paths):
        parent = rows[whole.parent[node]] if node else weights
        mine = np.maximum(counts[node] + documents.get(path, 0) * known.get(path, parent), 0.0)
        rows[node] = (mine + NODE_STRENGTH * parent) / (mine.sum() + NODE_STRENGTH)
    return rows


def ordered(topics: Topics, fitted: FittedTopics) -> Topics:
    """The topics in the order of the model before, with its document prior."""
    order = match_topics(topics.topics, fitted.topics).order
    return replace(
        topics, topics=topics.topics[:, order], weights=topics.weights[order],
        node_proportions=topics.node_proportions[:, order], document_concentration=fitted.document_concentration,
    )


def finished(
    fitted: FittedTopics, topics: Topics, solved: Solved, total: MomentState, run: Run, tokens: int,
    dropped: dict[str, int], settings: FitSettings, drift: Drift | None, tally: DocumentTally | None = None,
) -> FittedTopics:
    """The updated model, with what has changed since the one before."""
    summary = make_summary(settings, total, solved.solution, topics, run, dropped, tokens)
    warnings = [*fitted.summary.extra.get("warnings", []), *run.warnings]
    summary = replace(
        summary, sample=fitted.summary.sample, spectral_concentrations=fitted.summary.spectral_concentrations,
        extra={**fitted.summary.extra, **({"warnings": warnings} if warnings else {})},
    )
    match = match_topics(topics.topics, fitted.topics)
    changes: dict[str, Any] = describe_match(match, fitted.weights, topics.weights[match.order])
    changes["documents_before"], changes["documents_after"] = fitted.summary.documents, summary.documents
    changes["drift"] = drift.as_dict() if drift is not None else None
    changes["documents"] = tally.as_dict() if tally is not None else None
    changes["replay"] = topics.report.get("replay")
    result = fitted_topics(topics, total, summary, fitted.vocabulary, order=match.order)
    return replace(result, changes=changes)

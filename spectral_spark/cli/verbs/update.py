"""``spectral-spark update``: yesterday's model and today's documents."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checkpoint_flags import CHECKPOINT_FLAGS, resuming
from spectral_spark.cli.checks import corpus_manifest, input_is_there, memory_line, model_summary, output_is_free
from spectral_spark.cli.feature_update import is_feature_model
from spectral_spark.cli.feature_update import plan as plan_features
from spectral_spark.cli.feature_update import run as update_features
from spectral_spark.cli.flags import Flag
from spectral_spark.cli.table_changes import changed_by_table, plan_changes
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.data.value_types import LARGEST_SEED, Whole
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.formats import MODEL_KIND

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spectral_spark.cli.run import CommandRun
    from spectral_spark.ingest.corpus_store import Corpus
    from spectral_spark.ml.hdp import SpectralHDPModel


def plan(settings: Namespace) -> list[str]:
    given = [name for name in ("corpus", "merge", "remove", "changes") if getattr(settings, name)]
    if not given:
        raise SettingsError("nothing to do: give --corpus NEW, --merge MODEL, --remove CORPUS or --changes TABLE")
    if is_feature_model(settings.model):
        if settings.changes:
            raise SettingsError("--changes is for topic models; this is a feature model")
        return plan_features(settings)
    summary = model_summary(settings.model)
    changes = plan_changes(settings, summary)
    sources = ("model", "corpus", "merge", "remove", "replay")
    output_is_free(
        settings.output, settings.overwrite, kind=MODEL_KIND,
        inputs={f"--{name}": getattr(settings, name) for name in sources},
    )
    lines = []
    for flag, what in (("corpus", "add"), ("remove", "take out")):
        if path := getattr(settings, flag):
            documents = corpus_manifest(path)["documents"]["train"]
            lines.append(f"{what} the moments of {number(documents)} documents of '{path}'")
    if settings.merge:
        input_is_there(settings.merge, "--merge")
        lines.append(f"add the moments of the {number(model_summary(settings.merge)['documents'])} documents of "
                     f"'{settings.merge}'")
    return [
        f"start from '{settings.model}': {summary['k']} topics, {number(summary['documents'])} documents",
        *lines, *changes, "solve again, match the topics to the previous ones and measure drift",
        f"write the model to '{settings.output}'",
        memory_line(
            summary["terms"], len(summary["spectrum"]), summary["k"], third=summary.get("solver") != "implicit"
        ),
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    if is_feature_model(settings.model):
        update_features(run, settings)
        return
    from spectral_spark import SpectralHDPModel
    from spectral_spark.cli.verbs.fit import save
    from spectral_spark.files.locking import only_writer

    if settings.corpus or settings.remove or settings.changes:
        _ = run.spark                                       # start it before the work is timed and shown
    with only_writer(settings.output), resuming(settings, settings.output) as kept, run.terminal.doing("updating"):
        model = SpectralHDPModel.load(settings.model)
        before, done = model, []
        if settings.corpus:
            replay = _documents(run, settings.replay, model)[0] if settings.replay else None
            model = _changed(run, model, settings.corpus, settings, kept, replay=replay)
            done.append(("added", model.changes or {}))
        if settings.remove:
            model = _changed(run, model, settings.remove, settings, kept, remove=True)
            done.append(("removed", model.changes or {}))
        if settings.changes:
            model = changed_by_table(run, model, settings)
            done.append(("changed", model.changes or {}))
        if settings.merge:
            model = model.merge(SpectralHDPModel.load(settings.merge))
        remarks = save(model, settings.output, settings.overwrite)
    warnings = [text for what, change in done if what == "added" for text in (change.get("drift") or {}).get(
        "warnings", [])]
    counted = [line for what, change in done for line in documents_lines(what, change)]
    run.terminal.say(*summary_lines(before, model, settings.output, run.seconds, warnings, counted),
                     *(f"  {remark}" for remark in remarks))
    if warnings and settings.fail_on_drift:
        raise InputError(f"the data has drifted from the model, which was updated all the same: {'; '.join(warnings)}")


def _changed(
    run: "CommandRun", model: "SpectralHDPModel", path: str, settings: Namespace, kept: str | None, **options: Any
) -> "SpectralHDPModel":
    frame, unseen, cut = _documents(run, path, model)
    model.setProgress(run.passes)
    updated = model.update(
        frame, unseenShare=unseen, cutShare=cut, skipKnown=settings.skip_known, checkpointDir=kept, **options
    )
    return _with_drops(updated, model, corpus_manifest(path)["dropped"], -1 if options.get("remove") else 1)


def _with_drops(
    updated: "SpectralHDPModel", before: "SpectralHDPModel", dropped: dict[str, int], sign: int
) -> "SpectralHDPModel":
    """Count, where the model says what reading its documents dropped, what reading these did."""
    corpus = before.summary.extra.get("corpus")
    if not corpus or updated.summary.sources == before.summary.sources:
        return updated
    known = corpus.get("dropped", {})
    total = {reason: max(known.get(reason, 0) + sign * dropped.get(reason, 0), 0) for reason in known | dropped}
    return updated.setCorpus(
        corpus.get("name", ""), total, corpus.get("held_out"), corpus.get("cut_words"), corpus.get("table")
    )


def _documents(run: "CommandRun", path: str, model: "SpectralHDPModel") -> "tuple[DataFrame, float, float]":
    """Training documents in the model's vocabulary, the share of words that it lacks, and of those cut on purpose."""
    from pyspark.sql import functions as F

    from spectral_spark.ingest.corpus_store import open_corpus
    from spectral_spark.ingest.translate import UNSEEN, translated

    corpus = open_corpus(run.spark, path)
    documents = corpus.documents("train")
    left_out = corpus.manifest.get("unseen", {})
    if model.words is None or corpus.vocabulary == model.words:
        return documents, left_out.get("recurring_share", 0.0), left_out.get("cut_share", 0.0)
    frame = translated(documents, corpus.vocabulary, model.words)
    known = F.aggregate("counts", F.lit(0).cast("long"), lambda total, count: total + count)
    totals = frame.agg(F.sum(UNSEEN).alias("unseen"), F.sum(known).alias("known")).first()
    unseen, words = (float(totals["unseen"] or 0), float(totals["known"] or 0)) if totals else (0.0, 0.0)
    cut = float(_cut_tokens(corpus, model))
    unseen = max(unseen - cut, 0.0) + left_out.get("recurring_tokens", 0)
    cut += left_out.get("cut_tokens", 0)
    return frame, unseen / max(unseen + words, 1.0), cut / max(cut + unseen + words, 1.0)


def _cut_tokens(corpus: "Corpus", model: "SpectralHDPModel") -> int:
    """Occurrences of words of this corpus that were cut from the model's vocabulary on purpose."""
    cut = frozenset((model.summary.extra.get("corpus") or {}).get("cut_words", ()))
    table = corpus.vocabulary_table
    pairs = zip(table["term"].to_pylist(), table["occurrences"].to_pylist(), strict=True)
    return sum(occurrences for word, occurrences in pairs if word in cut)


def _on_purpose(drift: dict[str, Any]) -> str:
    share = drift.get("cut_share", 0.0)
    return f" (and {share:.1%} in words that the vocabulary leaves out as too frequent)" if share else ""


def documents_lines(what: str, changes: dict[str, Any]) -> list[str]:
    """What became of the documents that were "added" or "removed", and what going over the old ones again cost."""
    lines = []
    if tally := changes.get("documents"):
        left = {
            "in the model already": tally["known"], "not in the model": tally["absent"],
            "changed since then (same id, other words or path)": tally["changed"],
        }
        skipped = ", ".join(f"{number(count)} {why}" for why, count in left.items() if count)
        lines.append(f"  documents: {number(tally['taken'])} {what}" + (f"; skipped: {skipped}" if skipped else ""))
    if replay := changes.get("replay"):
        share = "all" if replay["rate"] >= 1 else f"a sample of {replay['rate']:.1%}"
        lines.append(
            f"  replay: {replay['sweeps']} sweeps over {share} of the documents, {number(replay['documents'])} with "
            f"{number(replay['words'])} words, in {duration(replay['seconds'])}"
        )
    return lines


def summary_lines(
    before: "SpectralHDPModel", model: "SpectralHDPModel", output: str, seconds: float, warnings: list[str],
    counted: list[str],
) -> list[str]:
    """What an update tells at its end."""
    lines = [
        f"model {output}: {model.k} topics, {number(before.summary.documents)} → {number(model.summary.documents)} "
        f"documents, in {duration(seconds)}",
        *counted,
    ]
    if model.changes:
        moved = [topic["similarity"] for topic in model.changes["topics"] if topic["previous"] is not None]
        lines.append(
            f"  topics kept {len(moved)} (similarity {min(moved, default=0):.2f} to {max(moved, default=0):.2f}), "
            f"new {len(model.changes['new'])}, vanished {len(model.changes['vanished'])}"
        )
        if renumbered := model.changes.get("renumbered"):
            lines.append(f"  new numbers: {', '.join(f'topic {old} is now {new}' for old, new in renumbered)}")
        if drift := model.changes.get("drift"):
            lines.append(
                f"  drift: {drift['unseen_share']:.1%} unseen words{_on_purpose(drift)}, "
                f"{drift['energy_outside']:.1%} of the energy outside the basis, loss {drift['loss']:.3f}"
            )
    return [*lines, *(f"  warning: {text}; consider a new fit" for text in warnings)]


VERB = Verb(
    name="update",
    summary="add, merge or remove documents without the old ones",
    description=(
        "Moments are additive: the moments of new documents are added to the model's exactly, and the driver solves\n"
        "again. Topics keep their numbers from day to day; a new topic takes the number of one that vanished, and\n"
        "the output lists the numbers that had to change. Words that the model does not know are counted and left\n"
        "out. When the new documents no longer fit the model's basis, vocabulary or topics, the output says how far\n"
        "they have drifted."
    ),
    example="spectral-spark update --corpus out/tuesday --model out/monday-model --output out/tuesday-model",
    flags=(
        Flag("corpus", "new documents, a corpus as ingest makes it; for a feature model, Parquet with new rows",
             metavar="NEW"),
        Flag("model", "the model to start from", metavar="MODEL", required=True),
        Flag("output", "directory of the model to make", metavar="MODEL2", required=True),
        Flag("merge", "another model in the same basis, whose documents are added", metavar="MODEL3"),
        Flag("remove", "documents, or rows of a feature model, to take out", metavar="CORPUS"),
        Flag("changes", "a Delta table whose changes since the model's version are applied", metavar="TABLE"),
        Flag("since-version", "version of that table that the model stands at, if the model does not know",
             metavar="N", read=Whole(0, LARGEST_SEED)),
        Flag("table-version", "version of that table to stop at, instead of the newest", metavar="N",
             read=Whole(0, LARGEST_SEED)),
        Flag("replay", "documents of the model, to refine with again together with the new ones", metavar="CORPUS"),
        Flag("skip-known", "documents or rows that are in the model already change nothing, instead of an error",
             switch=True),
        Flag("fail-on-drift", "end with an exit code other than 0 when the documents have drifted", switch=True),
        *CHECKPOINT_FLAGS,
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

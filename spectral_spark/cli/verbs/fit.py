"""``spectral-spark fit``: topics are found."""

import os
import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from spectral_spark.cli.checkpoint_flags import CHECKPOINT_FLAGS, resuming
from spectral_spark.cli.checks import corpus_manifest, model_summary, output_is_free
from spectral_spark.cli.flags import Flag, setting_flags
from spectral_spark.cli.messages import with_flags
from spectral_spark.cli.table_changes import table_of
from spectral_spark.cli.terminal import duration, number, topic_lines
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.data.seeds import check_room, number_of_topics, seeds_of
from spectral_spark.data.setting import Audience
from spectral_spark.data.settings import AUTO, HDP
from spectral_spark.engine.memory import GIB, held_bytes, memory_need
from spectral_spark.errors import SettingsError
from spectral_spark.files.formats import MODEL_KIND
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.planned_passes import planned_passes
from spectral_spark.fit.settings_check import check_together

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun
    from spectral_spark.fit.fit_summary import FitSummary
    from spectral_spark.ml.hdp import SpectralHDP, SpectralHDPModel
    from spectral_spark.text.text_recipe import TextRecipe

SETTINGS = tuple(
    setting for setting in HDP.for_audience(Audience.EVERYONE, Audience.EXPERTS) if setting.name != "checkpointDir"
)
FLAGS = (
    Flag("corpus", "a corpus made by ingest; its training documents are used", metavar="CORPUS", required=True,
         aliases=("input", "data", "documents")),
    Flag("model", "directory of the model to write", metavar="MODEL", required=True, aliases=("output", "out")),
    *setting_flags(SETTINGS),
    Flag("from", "start from this model of the same documents, with its settings unless others are given: another k, "
         "say, without finding the basis and collecting the moments again where the basis has room for it",
         metavar="MODEL"),
    Flag("basis", "collect the moments in this basis (see 'spectral-spark basis'), so that they can be added to those "
         "of other fits in the same basis", metavar="BASIS", expert=True),
    Flag("mlflow", "track the fit in this experiment of MLflow: its settings, passes and losses, the report and the "
         "model; MLFLOW_TRACKING_URI says where", metavar="EXPERIMENT", expert=True),
    *CHECKPOINT_FLAGS,
    OVERWRITE,
)


def parameters(settings: Namespace) -> dict[str, Any]:
    """The Estimator's parameters that were given; the others, and switches that are off, keep their defaults there."""
    given = {setting.name: getattr(settings, setting.attribute) for setting in SETTINGS}
    return {name: value for name, value in given.items() if value is not None and value is not False}


def estimator(vocabulary: tuple[str, ...], **parameters: Any) -> "SpectralHDP":
    """An Estimator for the corpus format."""
    from spectral_spark import SpectralHDP

    return SpectralHDP(
        termsCol="terms", countsCol="counts", pathCol="path", idCol="doc_id", vocabulary=list(vocabulary), **parameters
    )


def plan(settings: Namespace) -> list[str]:
    if settings.mlflow:
        from spectral_spark.ml.mlflow_tracking import check_mlflow

        check_mlflow()
    manifest = corpus_manifest(settings.corpus)
    output_is_free(
        settings.model, settings.overwrite, "--model", kind=MODEL_KIND,
        inputs={"--corpus": settings.corpus, "--basis": settings.basis},
    )
    train, tokens = manifest["documents"]["train"], manifest["tokens_by_split"]["train"]
    _check_basis(settings)
    wanted = fit_settings(settings)
    check_together(wanted)
    if wanted.seeds is not None and wanted.k != AUTO:
        check_room(wanted.seeds, int(wanted.k))
    columns = wanted.basis_columns(manifest["terms"])
    has_basis = _has_basis(settings, wanted, manifest["terms"])
    passes = planned_passes(wanted, manifest["terms"], tokens, has_basis)
    k = None if wanted.k == "auto" else int(wanted.k)
    third = wanted.collects_third(columns, 0 if has_basis else tokens)
    swept = tokens if settings.dry_run and wanted.samples_all(tokens) and _sweeps_here(settings, tokens) else 0
    held = held_bytes(train, swept or wanted.search_words(k or columns // 2, tokens))
    need = memory_need(manifest["terms"], columns, k, third=third, held=held)
    return [
        f"fit {'as many topics as there are' if wanted.k == 'auto' else f'{wanted.k} topics'} to '{settings.corpus}': "
        f"{number(train)} documents, {number(tokens)} words, {number(manifest['terms'])} distinct",
        passes_line(
            passes, columns, wanted.sweeps(tokens), wanted.corpus_sweeps(tokens),
            settles=wanted.settles_basis(columns, tokens),
        ),
        *([f"give {number_of_topics(wanted.seeds)} topics words of their own"] if wanted.seeds else ()),
        f"write the model to '{settings.model}'",
        f"memory: about {need.driver / GIB:.1f} GiB on the driver, {need.worker / GIB:.1f} GiB in each Python worker",
        *(_time(train, tokens, manifest["terms"], wanted, settings) if settings.dry_run else ()),
    ]


def _check_basis(settings: Namespace) -> None:
    """Refuse flags that have nothing to decide about a basis that is there already."""
    if not settings.basis:
        return
    if getattr(settings, "from", None):
        raise SettingsError("--basis and --from each bring a basis and the words it is for; give one of them")
    for name in ("basis_size", "range_passes", "word_scaling"):
        if getattr(settings, name) is not None:
            raise SettingsError(f"--{name.replace('_', '-')} is about finding a basis, and --basis gives one; leave "
                                "out one of the two")


def passes_line(
    planned: Mapping[str, int], columns: int, sweeps: int, corpus_sweeps: int = 0, *, settles: bool = False
) -> str:
    """How often a fit passes over the documents, and what for; ``settles`` tells whether the basis may need fewer."""
    settles = settles and "basis" in planned
    purposes = {"basis": f"basis of {columns} columns", "rank": "number of topics",
                "concentrations": "choice of concentrations",
                "sampling": f"Gibbs sampling, {sweeps} sweeps over a sample",
                "sampling all": f"Gibbs sampling, {corpus_sweeps} sweeps over all words", "check": "check on a sample"}
    parts = [
        f"{'at most ' if settles and name == 'basis' else ''}{passes} {purposes.get(name, name)}"
        for name, passes in planned.items()
    ]
    return f"pass over them {'at most ' if settles else ''}{sum(planned.values())} times: {'; '.join(parts)}"


def _time(documents: int, tokens: int, terms: int, wanted: FitSettings, settings: Namespace) -> list[str]:
    """How long it would take here, from the speed of the kernels on this machine."""
    from spectral_spark.fit.forecast import forecast
    from spectral_spark.fit.kernel_costs import CorpusSize

    given = re.fullmatch(r"local\[(\d+)\]", settings.master or "")
    cores = int(given[1]) if given else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    limit, local = _where(settings)
    expected = forecast(CorpusSize(documents, tokens, terms), wanted, cores, driver_entries=limit, local=local)
    return [f"time: about {duration(expected.seconds)} on {cores} cores like this machine's, after Spark has started; "
            f"most of it goes into {expected.bottleneck}"]


def _where(settings: Namespace) -> tuple[int, bool]:
    """The most entries that stay on the driver, and whether the session will be a local one."""
    from spectral_spark.engine.choose_corpus import SETTING, entries_limit
    from spectral_spark.engine.session import spark_setting

    given, fallbacks = dict(settings.spark_conf), _spark_of_config(settings.config)
    master = settings.master or spark_setting("spark.master", given, fallbacks) or "local[*]"
    return entries_limit(spark_setting(SETTING, given, fallbacks)), master.startswith("local[")


def _sweeps_here(settings: Namespace, tokens: int) -> bool:
    """Whether the driver will sweep so many words."""
    from spectral_spark.engine.choose_corpus import driver_copies

    limit, local = _where(settings)
    return driver_copies(limit, 0.75 * tokens, local=local)


def _spark_of_config(path: str | None) -> dict[str, str]:
    """The Spark settings in the file given to --config."""
    from spectral_spark.cli.config import read_config
    from spectral_spark.cli.parsing import verbs

    return dict(read_config(path, verbs()).spark) if path else {}


def fit_settings(settings: Namespace) -> FitSettings:
    """The flags that were given over those of the model to start from, or over the defaults of a fit."""
    known = {field.name for field in fields(FitSettings)}
    given = {name: value for name, value in vars(settings).items() if name in known and value is not None}
    if settings.seeds or settings.background:
        given["seeds"] = seeds_of(settings.seeds, bool(settings.background))
    before = _first_model(settings)
    return FitSettings.chosen(given if before is None else {"basis_size": AUTO, **given}, before)


def _first_model(settings: Namespace) -> FitSettings | None:
    """The settings of the model to start from, None without one."""
    path = getattr(settings, "from", None)
    return FitSettings.from_dict(model_summary(path).get("settings", {})) if path else None


def _has_basis(settings: Namespace, wanted: FitSettings, terms: int) -> bool:
    """Whether a basis is given that has room for the topics."""
    before = _first_model(settings)
    if before is None:
        return bool(settings.basis)
    return wanted.k == AUTO or int(wanted.k) <= before.basis_columns(terms)


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.files.locking import only_writer
    from spectral_spark.ingest.corpus_store import open_corpus
    from spectral_spark.ingest.translate import in_vocabulary, translated
    from spectral_spark.ml.mlflow_tracking import TrackedProgress, log_result, tracked_run
    from spectral_spark.moments.basis import load_shared_basis

    spark = run.spark
    remarks: list[str] = []
    with (
        only_writer(settings.model), resuming(settings, settings.model) as kept, run.terminal.doing("fitting"),
        tracked_run(settings.mlflow, title_of(settings.corpus)) as tracked,
    ):
        corpus = open_corpus(spark, settings.corpus)
        documents, words, basis = corpus.documents("train"), corpus.vocabulary, None
        if settings.basis:
            basis, words = load_shared_basis(settings.basis)
            documents = documents if words == corpus.vocabulary else translated(documents, corpus.vocabulary, words)
        first = _starting_model(settings)
        if first is not None and first.vocabulary is not None:
            words = first.vocabulary
            documents = in_vocabulary(documents, corpus.vocabulary, words)
        wanted = parameters(settings) if first is None else _all_parameters(settings)
        hdp = estimator(words, checkpointDir=kept, **wanted).setBasis(basis).setInitialModel(first)
        hdp.setProgress(TrackedProgress(run.passes) if tracked else run.passes)
        model = hdp.fit(documents).setCorpus(
            title_of(settings.corpus), corpus.manifest["dropped"], corpus.manifest["documents"].get("test", 0),
            corpus.manifest.get("cut_words"), table_of(corpus.manifest),
        ).setTextRecipe(text_recipe(corpus.manifest, first))
        remarks = save(model, settings.model, settings.overwrite)
        if tracked:
            remarks += log_result(settings.model)
    run.terminal.say(*summary_lines(model, settings.model, run.seconds), *(f"  {remark}" for remark in remarks))


def _starting_model(settings: Namespace) -> "SpectralHDPModel | None":
    from spectral_spark import SpectralHDPModel

    path = getattr(settings, "from", None)
    return SpectralHDPModel.load(path) if path else None


def _all_parameters(settings: Namespace) -> dict[str, Any]:
    """Every parameter of a fit, those of the model to start from where no flag was given."""
    values = fit_settings(settings).as_dict()
    return {setting.name: values[setting.attribute] for setting in HDP if setting.attribute in values}


def text_recipe(manifest: dict[str, Any], first: "SpectralHDPModel | None" = None) -> "TextRecipe | None":
    """How ingest made the words of a corpus, so that the model can read text; None if it cannot be known.

    Words that came ready-made have no recipe, nor do those of a list of stop words that is gone.
    """
    from spectral_spark.text.text_recipe import TextRecipe
    from spectral_spark.text.tokeniser import load_stop_words

    if first is not None and first.textRecipe is not None:
        return first.textRecipe
    made = manifest["settings"]
    length = made.get("min_word_length")
    if manifest.get("text") is not None:
        return TextRecipe.from_dict(manifest["text"], "corpus.json")
    if made.get("source") == "uci" or made.get("tokens_col") or not isinstance(length, int):
        return None
    try:
        words = load_stop_words(str(made.get("stop_words")))
    except SettingsError:
        return None
    return TextRecipe(tuple(sorted(words)), length)


def title_of(corpus: str) -> str:
    """What to call a corpus: its folder, or the one around it when the folder is just called "corpus"."""
    place = corpus if "://" in corpus else os.path.abspath(corpus.removeprefix("file:"))
    names = place.partition("://")[2] or place
    return next((part for part in reversed(names.split("/")) if part not in ("", "corpus")), "corpus")


def save(model: "SpectralHDPModel", path: str, overwrite: bool) -> list[str]:
    """Write a model; the remarks are about labels of the model it replaces that no topic continues."""
    writer = model.write()
    if overwrite:
        writer.overwrite()
    writer.save(path)
    return [f"labels of the replaced model that no topic continues are in {path}/{writer.put_aside}"] if (
        writer.put_aside) else []


def summary_lines(model: "SpectralHDPModel", output: str, seconds: float) -> list[str]:
    """What a fit tells at its end; ``seconds`` are those of the whole command."""
    summary = model.summary
    fitting = summary.seconds.get("total")
    time = f"{duration(fitting)} ({duration(seconds)} with starting Spark and writing the model)" if fitting else (
        duration(seconds))
    return [
        f"model {output}: {model.k} topics from {number(summary.documents)} documents, {number(summary.tokens)} words, "
        f"in {len(summary.passes)} passes and {time}",
        *_about_k(summary),
        *(f"  warning: {with_flags(text)}" for text in summary.extra.get("warnings", [])),
        "  topics by share of the words:",
        *topic_lines(first_words(model), model=output),
    ]


def _about_k(summary: "FitSummary") -> list[str]:
    """Why there are so many topics, where that is not simply what was asked."""
    died = len(summary.refinement.get("dropped_topics", []))
    reasons = [with_flags(summary.rank_reason)] if summary.settings.get("k") == "auto" and summary.rank_reason else []
    if died:
        reasons.append(f"{died} topics had no words left after the refinement and were dropped")
    return [f"  {reason}" for reason in reasons]


def first_words(model: "SpectralHDPModel", words: int = 8) -> list[tuple[int, float, list[str]]]:
    """Number, weight and first words of every topic, the heaviest first."""
    topics, names = model.topicsMatrix(), model.words or [str(term) for term in range(model.vocabSize)]
    return [
        (int(topic), float(model.weights[topic]), [names[term] for term in np.argsort(-topics[:, topic])[:words]])
        for topic in np.argsort(-model.weights)
    ]


VERB = Verb(
    name="fit",
    summary="find the topics of a corpus and of every node of its tree",
    description=(
        "Collect the moments of the words in a few passes, turn them into topics on the driver, and improve these\n"
        "with priors that follow the document tree: by Gibbs sampling and passes of variational EM, or, beyond six\n"
        "million words, by a search in a sample and Gibbs sampling of all words where the documents are. The model\n"
        "directory keeps the moments, so that trying another k or solver, or adding tomorrow's documents, does not\n"
        "need the old documents again."
    ),
    example="spectral-spark fit --corpus out/corpus --model out/model --k 50",
    flags=FLAGS,
    plan=plan,
    run=run,
)

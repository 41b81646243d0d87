"""``spectral-spark update`` of a feature model: rows instead of documents."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checkpoint_flags import resuming
from spectral_spark.cli.checks import input_is_there, output_is_free
from spectral_spark.cli.ibp_input import same_vectors
from spectral_spark.cli.terminal import duration, number
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.directories import open_directory
from spectral_spark.files.formats import FEATURE_MODEL_KIND, FEATURE_MODEL_VERSION
from spectral_spark.files.overwriting import kind_of

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun
    from spectral_spark.ml.ibp import SpectralIBPModel


def is_feature_model(path: str) -> bool:
    """Whether there is a feature model at a path."""
    return kind_of(path) == FEATURE_MODEL_KIND


def plan(settings: Namespace) -> list[str]:
    """What would be done, without starting Spark."""
    if settings.replay:
        raise SettingsError("--replay is for topics; an update of features needs no old rows")
    sources = ("model", "corpus", "merge", "remove")
    output_is_free(
        settings.output, settings.overwrite, kind=FEATURE_MODEL_KIND,
        inputs={f"--{name}": getattr(settings, name) for name in sources},
    )
    saved = open_directory(settings.model, FEATURE_MODEL_KIND, FEATURE_MODEL_VERSION)
    if not saved.has("moments/state.json"):
        raise InputError(f"--model '{settings.model}' was saved by a version that did not keep its moments, so nothing "
                         "can be added, removed or merged; fit it again")
    summary = saved.read_object("summary.json")
    lines = []
    for flag, what in (("corpus", "add"), ("remove", "take out")):
        if path := getattr(settings, flag):
            input_is_there(path, f"--{flag}")
            lines.append(f"{what} the moments of the rows of '{path}'")
    if settings.merge:
        open_directory(settings.merge, FEATURE_MODEL_KIND, FEATURE_MODEL_VERSION)
        lines.append(f"add the moments of '{settings.merge}'")
    return [
        f"start from '{settings.model}': {summary.get('k')} features, {number(summary.get('rows', 0))} rows",
        *lines, "solve again and match the features to the previous ones", f"write the model to '{settings.output}'",
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    """Add, remove and merge, in this order, and save the result."""
    from spectral_spark import SpectralIBPModel
    from spectral_spark.files.locking import only_writer

    with only_writer(settings.output), resuming(settings, settings.output) as kept:
        before = model = SpectralIBPModel.load(settings.model).setProgress(run.passes)
        lines: list[str] = []
        warnings: list[str] = []
        for flag, done in (("corpus", "added"), ("remove", "removed")):
            if path := getattr(settings, flag):
                rows = _rows(run, path, model)
                model = model.update(
                    rows, remove=flag == "remove", skipKnown=bool(settings.skip_known), checkpointDir=kept
                ).setProgress(run.passes)
                lines += _tally(done, model.changes or {})
                warnings += (model.changes or {}).get("warnings", [])
        if settings.merge:
            model = model.merge(SpectralIBPModel.load(settings.merge))
            warnings += (model.changes or {}).get("warnings", [])
        writer = model.write()
        (writer.overwrite() if settings.overwrite else writer).save(settings.output)
    warnings = list(dict.fromkeys(warnings))
    run.terminal.say(*summary_lines(before, model, settings.output, run.seconds), *lines,
                     *(f"  warning: {text}" for text in warnings))
    if settings.fail_on_drift and any("the basis holds" in text for text in warnings):
        raise InputError(f"the data has drifted from the model, which was updated all the same: {'; '.join(warnings)}")


def _rows(run: "CommandRun", path: str, model: "SpectralIBPModel") -> Any:
    from spectral_spark.files.spark_paths import spark_readable

    rows = run.spark.read.parquet(spark_readable(path))
    return same_vectors(rows, model.getOrDefault(model.featuresCol), model.numFeatures, model.summary.input, path)


def _tally(done: str, changes: dict[str, Any]) -> list[str]:
    tally = changes.get("documents")
    if not tally:
        return []
    left = {"in the model already": tally["known"], "not in the model": tally["absent"],
            "changed since then (same id, other values)": tally["changed"]}
    skipped = ", ".join(f"{number(count)} {why}" for why, count in left.items() if count)
    return [f"  rows: {number(tally['taken'])} {done}" + (f"; skipped: {skipped}" if skipped else "")]


def summary_lines(before: "SpectralIBPModel", model: "SpectralIBPModel", output: str, seconds: float) -> list[str]:
    """What an update tells at its end."""
    lines = [f"model {output}: {model.k} {model.summary.kind} features, {number(before.summary.rows)} → "
             f"{number(model.summary.rows)} rows, in {duration(seconds)}"]
    if model.changes:
        alike = [one["similarity"] for one in model.changes["features"] if one["previous"] is not None]
        spread = f"similarity {min(alike, default=0):.2f} to {max(alike, default=0):.2f}"
        lines.append(f"  features kept {len(alike)} ({spread}), new {len(model.changes['new'])}, "
                     f"vanished {len(model.changes['vanished'])}")
    return lines

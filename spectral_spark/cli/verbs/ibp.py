"""``spectral-spark ibp``: latent features of real vectors."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectral_spark.cli.checks import input_is_there, output_is_free
from spectral_spark.cli.flags import Flag, setting_flag, setting_flags
from spectral_spark.cli.ibp_input import IbpInput, read_input, vectors_of
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.data.settings import AUTO, IBP
from spectral_spark.data.value_types import Texts
from spectral_spark.errors import SettingsError
from spectral_spark.files.directories import open_directory
from spectral_spark.files.formats import CODES_KIND, CODES_VERSION, FEATURE_MODEL_KIND, FEATURE_MODEL_VERSION
from spectral_spark.fit.settings_check import check_features
from spectral_spark.ibp.solve_features import ATTRIBUTES, IbpSettings, largest_state, planned_passes

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun
    from spectral_spark.ml.ibp import SpectralIBPModel

APART = ("featuresCol", "kind")
SETTINGS = tuple(setting for setting in IBP if setting.name not in (*APART, "reconstructionCol"))
MOST_COLUMNS = 0.5        # beyond this share of the columns, an automatic k rests on few columns of noise


def plan(settings: Namespace) -> list[str]:
    input_is_there(settings.input)
    output_is_free(settings.output, settings.overwrite, kind=FEATURE_MODEL_KIND, inputs={"--input": settings.input})
    if settings.basis:
        open_directory(settings.basis, FEATURE_MODEL_KIND, FEATURE_MODEL_VERSION)
    given = read_input(settings)
    width = given.width
    k = settings.k or IBP.default("k")
    asked = IbpSettings.from_dict({ATTRIBUTES.get(name, IBP[name].attribute): value
                                   for name, value in parameters(settings).items()})
    check_features(asked)
    state = largest_state(width, asked) / 2**20
    lines = [
        f"find {'as many as there are' if k == AUTO else k} {settings.kind} features in {given} "
        f"in '{settings.input}'",
        f"look at the rows {planned_passes(width, asked)} times",
        f"write the model to '{settings.output}'",
        f"memory: about {6 * state + 300:,.0f} MiB on the driver, {3 * state + 200:,.0f} MiB in each worker",
    ]
    if settings.codes:
        output_is_free(
            settings.codes, settings.overwrite, "--codes", kind=CODES_KIND,
            inputs={"--input": settings.input},
        )
        if settings.codes.rstrip("/") == settings.output.rstrip("/"):
            raise SettingsError("--codes and --output are the same directory; give two")
        lines.append(f"write the codes of all rows as Parquet to '{settings.codes}'")
    return lines


def parameters(settings: Namespace) -> dict[str, Any]:
    """The Estimator's parameters that were given; the others keep their defaults there."""
    given = {setting.name: getattr(settings, setting.attribute, None) for setting in IBP}
    return {name: value for name, value in given.items() if value is not None}


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.engine.batch_size import small_batches
    from spectral_spark.files.spark_paths import spark_readable

    rows = run.spark.read.parquet(spark_readable(settings.input))
    given = read_input(settings)
    with small_batches(run.spark, given.width):
        rows, dropped = vectors_of(rows, given, drop_constant=bool(settings.drop_constant))
        _fit_and_code(run, settings, rows, given, dropped)


def _fit_and_code(run: "CommandRun", settings: Namespace, rows: Any, given: IbpInput, dropped: list[str]) -> None:
    from spectral_spark import SpectralIBP, SpectralIBPModel
    from spectral_spark.files.locking import only_writer

    with only_writer(settings.output):
        wanted = parameters(settings) | {"featuresCol": given.vectors}
        estimator = SpectralIBP(**wanted).setProgress(run.passes)
        if settings.basis:
            estimator.setBasis(SpectralIBPModel.load(settings.basis).basis)
        model = estimator.fit(rows)
        kept = [name for name in given.columns if name not in dropped]
        model.setInput(kept, [] if given.columns else [int(entry) for entry in dropped])
        writer = model.write()
        (writer.overwrite() if settings.overwrite else writer).save(settings.output)
    names = tuple(name for name in given.columns if name not in dropped) or None
    run.terminal.say(*summary_lines(model, settings.output, run.seconds, names), *_about_dropped(dropped))
    if settings.codes:
        from spectral_spark.engine.arrow import write_parquet

        with run.terminal.doing("coding"):
            written = write_parquet(
                _codes(model, rows), settings.codes, CODES_KIND, CODES_VERSION, overwrite=settings.overwrite
            )
        run.terminal.say(f"codes {settings.codes}: {number(written)} rows in {duration(run.seconds)}")


def _codes(model: "SpectralIBPModel", rows: Any) -> Any:
    """The rows without their vectors, with codes (and activity) as arrays that any reader understands."""
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as F

    features = model.getOrDefault(model.featuresCol)
    coded = model.transform(rows).drop(features)
    added = [name for name in coded.columns if name not in rows.columns]
    return coded.withColumns({name: vector_to_array(F.col(name)) for name in added})


def _about_dropped(dropped: list[str]) -> list[str]:
    if not dropped:
        return []
    return [f"  constant columns left out: {', '.join(dropped)}; rows for this model must leave them out as well"]


def _caveat(k: int, columns: int, asked: Any) -> list[str]:
    """A remark when an automatic k is most of the columns."""
    if asked != AUTO or k <= MOST_COLUMNS * columns:
        return []
    return [
        f"  caution: {k} features were counted in {columns} columns. The noise is measured in the {columns - k} "
        "dimensions that are left, too few to be sure of the number; compare with a smaller --k, or give more columns"
    ]


def summary_lines(
    model: "SpectralIBPModel", output: str, seconds: float, names: Sequence[str] | None = None
) -> list[str]:
    """What a fit tells at its end; ``names`` are those of the columns, if they have any."""
    summary = model.summary
    shares = model.features.explained_variances / summary.trace
    lines = [
        f"model {output}: {model.k} {summary.kind} features from {number(summary.rows)} rows of "
        f"{number(summary.columns)} columns, noise variance {model.noiseVariance:.4g}, in {len(summary.passes)} passes "
        f"and {duration(seconds)}",
    ]
    if summary.missing_values:
        how = "left out of the moments" if summary.settings.get("missing") == "pairwise" else "replaced by column means"
        lines.append(f"  {number(summary.missing_values)} missing values were {how}")
    if summary.concentration is not None and summary.log_prior is not None:
        lines.append(f"  buffet process: α {summary.concentration:.3g}, log p(Z) {summary.log_prior:,.1f}")
    lines += _caveat(model.k, summary.columns, summary.settings.get("k"))
    for feature in range(model.k):
        top = np.argsort(-np.abs(model.dictionary()[:, feature]), kind="stable")[:5]
        columns = ", ".join(f"{names[i] if names else i} ({model.dictionary()[i, feature]:+.3g})" for i in top)
        lines.append(
            f"  feature {feature:<3d} on {model.probabilities[feature]:5.1%}  variance {shares[feature]:5.1%}  "
            f"columns {columns}"
        )
    return lines


VERB = Verb(
    name="ibp",
    summary="find latent features of real vectors (binary, sparse factors, independent components)",
    description=(
        "Find the dictionary of x = Φz + noise (binary), or of x = Φ(z∘y) + noise with Gaussian (isfa) or Laplace\n"
        "(iica) y, from the covariance and the third and fourth cumulants of the rows. The output directory is a\n"
        "model that SpectralIBPModel.load reads; features/ in it is Parquet, summary.json the run report."
    ),
    example="spectral-spark ibp --input images.parquet --features-col pixels --kind binary --output out/features",
    flags=(
        Flag("input", "Parquet with one row per observation", metavar="PARQUET", required=True),
        setting_flag(IBP["featuresCol"]),
        Flag("features-cols", "columns of numbers that make up the vectors, instead of --features-col; all takes every "
             "numeric column except --id-col", read=Texts("the names of columns", "A,B,…"), metavar="A,B,…"),
        setting_flag(IBP["kind"], required=True),
        Flag("output", "directory of the model to write", metavar="DIR", required=True, aliases=("model", "out")),
        Flag("basis", "collect moments in the basis of this feature model, so that both can be merged",
             metavar="MODEL"),
        Flag("codes", "also write the codes of all rows as Parquet to this directory", metavar="DIR"),
        Flag("drop-constant", "leave out columns that never vary, instead of refusing them; takes one more pass",
             switch=True),
        *setting_flags(SETTINGS),
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

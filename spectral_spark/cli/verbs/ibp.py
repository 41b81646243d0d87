"""``spectral-spark ibp``: latent features of real vectors."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow.dataset import dataset

from spectral_spark.cli.checks import input_is_there, output_is_free
from spectral_spark.cli.flags import Flag, setting_flag, setting_flags
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.data.settings import AUTO, IBP
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.directories import resolve
from spectral_spark.files.formats import CODES_KIND, CODES_VERSION, FEATURE_MODEL_KIND
from spectral_spark.ibp.solve_features import IbpSettings, largest_state, planned_passes

if TYPE_CHECKING:
    from spectral_spark.cli.run import Run
    from spectral_spark.ml.ibp import SpectralIBPModel

REQUIRED = ("featuresCol", "kind")
SETTINGS = tuple(setting for setting in IBP if setting.name not in (*REQUIRED, "reconstructionCol"))


def plan(settings: Namespace) -> list[str]:
    input_is_there(settings.input)
    output_is_free(settings.output, settings.overwrite, kind=FEATURE_MODEL_KIND, inputs={"--input": settings.input})
    width = _width(settings.input, settings.features_col)
    k = settings.k or IBP.default("k")
    given = {"k": k, "polish": settings.polish, "power_passes": settings.power_passes}
    asked = IbpSettings(kind=settings.kind, **{name: value for name, value in given.items() if value is not None})
    state = largest_state(width, asked) / 2**20
    lines = [
        f"find {'as many as there are' if k == AUTO else k} {settings.kind} features in the {number(width)} columns "
        f"of '{settings.features_col}' in '{settings.input}'",
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


def _width(path: str, column: str) -> int:
    """Length of the vectors, from the first row; refuses what is not Parquet or has no such column."""
    filesystem, inside = resolve(path)
    try:
        table = dataset(inside, filesystem=filesystem, format="parquet")
        names = table.schema.names
        if column not in names:
            raise InputError(f"--features-col: there is no column '{column}' in '{path}'; it has {', '.join(names)}")
        first = table.head(1, columns=[column]).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"--input '{path}' is not Parquet: {error}") from None
    value = first[0][column] if first else None
    if isinstance(value, dict):                            # a pyspark.ml Vector; a dense one has no size
        value = [0] * value["size"] if value.get("size") else value.get("values")
    return max(len(value), 1) if isinstance(value, list) else 1


def parameters(settings: Namespace) -> dict[str, Any]:
    """The Estimator's parameters that were given; the others keep their defaults there."""
    given = {setting.name: getattr(settings, setting.attribute, None) for setting in IBP}
    return {name: value for name, value in given.items() if value is not None}


def run(run: "Run", settings: Namespace) -> None:
    from spectral_spark.engine.batch_size import small_batches
    from spectral_spark.files.spark_paths import spark_readable

    rows = run.spark.read.parquet(spark_readable(settings.input))
    with small_batches(run.spark, _width(settings.input, settings.features_col)):
        _fit_and_code(run, settings, rows)


def _fit_and_code(run: "Run", settings: Namespace, rows: Any) -> None:
    from spectral_spark import SpectralIBP
    from spectral_spark.files.locking import only_writer

    with only_writer(settings.output):
        model = SpectralIBP(**parameters(settings)).setProgress(run.passes).fit(rows)
        writer = model.write()
        (writer.overwrite() if settings.overwrite else writer).save(settings.output)
    run.terminal.say(*summary_lines(model, settings.output, run.seconds))
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


def summary_lines(model: "SpectralIBPModel", output: str, seconds: float) -> list[str]:
    """What a fit tells at its end."""
    summary = model.summary
    shares = model.features.explained_variances / summary.trace
    lines = [
        f"model {output}: {model.k} {summary.kind} features from {number(summary.rows)} rows of "
        f"{number(summary.columns)} columns, noise variance {model.noiseVariance:.4g}, in {len(summary.passes)} passes "
        f"and {duration(seconds)}",
    ]
    if summary.missing_values:
        lines.append(f"  {number(summary.missing_values)} missing values stood for the mean of their column")
    for feature in range(model.k):
        top = np.argsort(-np.abs(model.dictionary()[:, feature]), kind="stable")[:5]
        columns = ", ".join(f"{i} ({model.dictionary()[i, feature]:+.3g})" for i in top)
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
        *(setting_flag(IBP[name], required=True) for name in REQUIRED),
        Flag("output", "directory of the model to write", metavar="DIR", required=True, aliases=("model", "out")),
        Flag("codes", "also write the codes of all rows as Parquet to this directory", metavar="DIR"),
        *setting_flags(SETTINGS),
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

"""The verb ``ibp``: what it refuses before Spark starts, and what it leaves behind."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.ml.functions import array_to_vector

from spectral_spark import SpectralIBPModel
from spectral_spark.cli.parsing import Request, parse
from spectral_spark.cli.run import CommandRun, main
from spectral_spark.cli.verbs.ibp import _caveat


@pytest.fixture
def rows(tmp_path: Path) -> str:
    rng = np.random.default_rng(0)
    values = (rng.random((600, 2)) < 0.4) @ rng.standard_normal((2, 6)) + 0.1 * rng.standard_normal((600, 6))
    pq.write_table(pa.table({"id": range(600), "x": values.tolist()}), tmp_path / "rows.parquet")
    return str(tmp_path / "rows.parquet")


def words(rows: str, output: Path, *more: str) -> list[str]:
    return ["ibp", "--input", rows, "--features-col", "x", "--kind", "binary", "--output", str(output), *more]


def test_dry_run_says_what_would_be_done(rows: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(rows, tmp_path / "model", "--k", "2", "--polish", "1", "--dry-run")) == 0
    said = capsys.readouterr().out
    assert "find 2 binary features in the 6 columns of 'x'" in said
    assert "look at the rows 4 times" in said
    assert "MiB" in said
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(("change", "message"), [
    (("--features-col", "y"), "no column 'y'"),
    (("--input", "nowhere.parquet"), "nothing at 'nowhere.parquet'"),
    (("--input", __file__), "is not Parquet"),
    (("--kind", "gauss"), "choose one of binary, isfa, iica"),
    (("--k", "41"), "from 1 to 40"),
    (("--missing", "drop"), "choose one of refuse, mean"),
])
def test_wrong_usage_ends_with_two(
    rows: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], message: str
) -> None:
    given = words(rows, tmp_path / "model", "--k", "2")
    given[given.index(change[0]) + 1 if change[0] in given else len(given) :] = (
        [change[1], *given[given.index(change[0]) + 2 :]] if change[0] in given else list(change)
    )
    assert main(given) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("vectors", [False, True])
def test_model_and_codes_are_left_behind(spark: Any, rows: str, tmp_path: Path, vectors: bool) -> None:
    if vectors:
        frame = spark.read.parquet(rows)
        rows = str(tmp_path / "vectors.parquet")
        frame.select("id", array_to_vector("x").alias("x")).write.parquet(rows)
    request = parse(words(rows, tmp_path / "model", "--codes", str(tmp_path / "codes"), "--quiet"))
    assert isinstance(request, Request)
    run = CommandRun(request)
    run.__dict__["spark"] = spark
    request.verb.plan(request.settings)
    request.verb.run(run, request.settings)
    summary = json.loads((tmp_path / "model" / "summary.json").read_text())
    assert (summary["k"], summary["rows"]) == (2, 600)
    codes = pq.read_table(tmp_path / "codes").to_pydict()
    assert sorted(codes) == ["codes", "id"]
    assert sorted(codes["id"]) == list(range(600))
    assert {value for row in codes["codes"] for value in row} == {0.0, 1.0}


@pytest.fixture
def wide(tmp_path: Path) -> str:
    """A table with a column for each number, one of them constant, in two files."""
    rng = np.random.default_rng(0)
    values = (rng.random((600, 2)) < 0.4) @ rng.standard_normal((2, 6)) + 0.1 * rng.standard_normal((600, 6))
    place = tmp_path / "wide.parquet"
    place.mkdir()
    for part in range(2):
        rows = slice(300 * part, 300 * (part + 1))
        columns = {"id": range(rows.start, rows.stop), "name": ["x"] * 300, "level": [7.0] * 300}
        columns |= {f"c{i}": values[rows, i] for i in range(6)}
        pq.write_table(pa.table(columns), place / f"{part}.parquet")
    return str(place)


def wide_words(wide: str, output: Path, *more: str) -> list[str]:
    return ["ibp", "--input", wide, "--kind", "binary", "--id-col", "id", "--output", str(output), *more]


@pytest.mark.parametrize(("flags", "message"), [
    (("--k", "5", "--basis-size", "3"), "raise --basis-size to at least 5"),
    (("--kurtosis", "4"), "kurtosis"),
    (("--offset", "free", "--probabilities-from", "mean"), "--probabilities-from mean is for features without"),
    (("--noise-variance", "0.1", "--noise-rule", "smallest-eigenvalue"), "--noise-variance gives the variance that"),
    (("--missing", "pairwise", "--polish", "1"), "--polish needs complete rows"),
])
def test_flags_that_contradict_each_other_are_refused_before_spark_starts(
    rows: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], message: str
) -> None:
    for dry in ([], ["--dry-run"]):
        assert main([*words(rows, tmp_path / "model"), *flags, *dry]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(("given", "message"), [
    (("--features-cols", "c0,c9"), "there is no column 'c9'"),
    (("--features-cols", "c0,name"), "column 'name' is string, not a number"),
    (("--features-cols", "all"), "constant values in column 'level'"),
    (("--features-cols", "c0,c0"), "names a column twice"),
    (("--features-cols", "c0", "--features-col", "c1"), "give either --features-col"),
    ((), "give either --features-col"),
])
def test_wrong_columns_are_refused_before_spark_starts(
    wide: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], message: str
) -> None:
    assert main(wide_words(wide, tmp_path / "model", *given, "--dry-run")) == 2
    assert message in capsys.readouterr().err


def test_wide_tables_are_fitted_without_their_constant_columns(
    spark: Any, wide: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--features-cols", "all", "--drop-constant", "--codes", str(tmp_path / "codes"))
    assert main(wide_words(wide, tmp_path / "model", *given), spark) == 0
    said = capsys.readouterr().out
    assert "2 binary features from 600 rows of 6 columns" in said
    assert "constant columns left out: level" in said
    assert "columns c" in said
    codes = pq.read_table(tmp_path / "codes").to_pydict()
    assert sorted(codes) == ["codes", "id", "name"]


def test_a_feature_model_is_updated_as_a_topic_model_is(
    spark: Any, wide: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fitted to the columns of a wide table without constant ones; the update finds the same columns by itself."""
    table = pq.read_table(wide)
    parts = {name: str(tmp_path / f"{name}.parquet") for name in ("old", "new")}
    pq.write_table(table.slice(0, 400), parts["old"])
    pq.write_table(table.slice(400), parts["new"])
    models = {name: str(tmp_path / name) for name in ("a", "b", "both", "back", "merged")}
    given = ("--features-cols", "all", "--id-col", "id", "--drop-constant", "--k", "2")
    assert main(wide_words(parts["old"], Path(models["a"]), *given), spark) == 0
    base = ["update", "--model", models["a"], "--output", models["both"]]
    assert main([*base, "--corpus", parts["new"], "--dry-run"]) == 0
    assert "add the moments of the rows of" in capsys.readouterr().out
    assert main([*base, "--corpus", parts["new"]], spark) == 0
    said = capsys.readouterr().out
    assert "2 binary features, 400 → 600 rows" in said
    assert "rows: 200 added" in said
    back = ["update", "--model", models["both"], "--output", models["back"], "--remove", parts["new"]]
    assert main(back, spark) == 0
    assert main([*back[:3], "--output", str(tmp_path / "x"), "--corpus", parts["new"]], spark) == 2
    assert "--skip-known" in capsys.readouterr().err
    assert main([*wide_words(parts["new"], Path(models["b"]), *given), "--basis", models["a"]], spark) == 0
    merge = ["update", "--model", models["a"], "--merge", models["b"], "--output", models["merged"]]
    assert main(merge, spark) == 0
    found = {name: SpectralIBPModel.load(path) for name, path in models.items()}
    np.testing.assert_allclose(found["back"].dictionary(), found["a"].dictionary(), atol=1e-7)
    np.testing.assert_allclose(found["merged"].dictionary(), found["both"].dictionary(), atol=1e-9)
    old = Path(__file__).parents[1] / "data" / "version-0.1.0" / "features"
    assert main(["update", "--model", str(old), "--corpus", wide, "--output", str(tmp_path / "y"), "--dry-run"]) == 2
    assert "did not keep its moments" in capsys.readouterr().err


def test_constant_entries_of_vectors_are_dropped(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    values = (rng.random((600, 2)) < 0.4) @ rng.standard_normal((2, 6)) + 0.1 * rng.standard_normal((600, 6))
    values[:, 3] = 5.0
    pq.write_table(pa.table({"x": values.tolist()}), tmp_path / "rows.parquet")
    assert main(words(str(tmp_path / "rows.parquet"), tmp_path / "model", "--drop-constant"), spark) == 0
    assert "constant columns left out: 3;" in capsys.readouterr().out


def test_an_automatic_k_of_most_columns_comes_with_a_caution() -> None:
    assert "5 features were counted in 6 columns" in _caveat(5, 6, "auto")[0]
    assert _caveat(2, 6, "auto") == _caveat(5, 6, 5) == []

"""compare, explain and answers on the command line: wrong names and odd columns are told in one sentence each."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spectral_spark.cli import main
from spectral_spark.cli.tables import result_lines
from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo


@pytest.fixture(scope="module")
def asked(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A corpus that carries columns of several kinds, and a model of it, as flags."""
    place = tmp_path_factory.mktemp("questions")
    write_demo(simulate_demo(300), place / "notes.jsonl")
    rows = [json.loads(line) for line in (place / "notes.jsonl").read_text().splitlines()]
    numbers = [float("nan"), float("inf"), None, *(float(at % 12) for at in range(3, 300))]
    columns = {
        **{name: [row[name] for row in rows] for name in ("id", "text", "region", "town")},
        "rating": pa.array(numbers, pa.float64(), from_pandas=False), "grade": [f"{at % 5}.5" for at in range(300)],
        "raw": pa.array([b"\xff\x00"] * 300, pa.binary()),
    }
    pq.write_table(pa.table(columns), place / "notes.parquet")
    corpus, model = str(place / "corpus"), str(place / "model")
    ingest = ["ingest", "--source", "table", "--input", str(place / "notes.parquet"), "--text-col", "text",
              "--path-cols", "region,town", "--id-col", "id", "--keep-cols", "rating,grade", "--min-documents", "1"]
    assert main([*ingest, "--output", corpus, "--quiet"], spark) == 0
    fit = ["fit", "--corpus", corpus, "--k", "4", "--explore-sweeps", "0", "--refine-passes", "1", "--quiet"]
    assert main([*fit, "--model", model], spark) == 0
    return ["--corpus", corpus, "--model", model]


@pytest.mark.parametrize(("words", "message"), [
    (["compare", "--where-a", "ratng >= 4"], "--where-a: there is no column 'ratng'; did you mean 'rating'?"),
    (["compare", "--where-a", "grade >= 4"], r"out for every document \(CAST_INVALID_INPUT\); compare text with text"),
    (["compare", "--where-a", "1 / (rating - rating) > 1"], r"for every document \(DIVIDE_BY_ZERO\)"),
    (["compare", "--where-a", "rating < -1"], "no document with a known word is in the first selection"),
    (["compare", "--a", "rating=1.0", "--b", "rating=99"], "no document with a known word is in the second selection"),
    (["compare", "--a", "ratng=1", "--b", "rating=2"],
     "--a: the corpus has no column 'ratng'; it carries rating, grade; did you mean 'rating'.* no node"),
    (["compare", "--a", "coast", "--b", "/coast/"], "--a and --b are both 'coast'"),
    (["explain", "--by", "raw"], "column 'raw' is binary; --by takes text, numbers or dates"),
    (["explain", "--by", "rating", "--bins", "2000000000"], "--bins is 2000000000; give a whole number from 2 to 200"),
    (["answers", "--by", "rating,grad", "--output", "{out}"], "no column 'grad'.*did you mean 'grade'"),
])
def test_mistakes_are_told_in_one_sentence(
    asked: list[str], words: list[str], message: str, spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if re.search("CAST_INVALID_INPUT|DIVIDE_BY_ZERO", message) and spark.conf.get("spark.sql.ansi.enabled") != "true":
        pytest.skip("Spark 3.5 takes such values for missing")
    words = [word.format(out=tmp_path / "answers.json") if "{" in word else word for word in words]
    assert main([words[0], *asked, *words[1:]], spark) == 2
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith(("spectral-spark", "{", "\tat"))]
    assert len(said) == 1                                   # neither a log of Spark nor a traceback
    assert re.search(message, said[0])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("error:.*(divide|invalid value).*:RuntimeWarning")
def test_numbers_without_end_are_missing_and_leave_the_others_in_order(
    asked: list[str], spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, expected in (
        ([], [*(f"{number}.0" for number in range(12)), "(missing)"]),
        (["--bins", "3"], ["0 to 4", "4 to 8", "8 to 11", "(missing)"]),
    ):
        assert main(["explain", *asked, "--by", "rating", "--topics", "0", "--format", "json", *more], spark) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [row["value"] for row in rows] == expected
        assert rows[-1]["documents"] == 3
        assert all(0 <= row["trendQValue"] <= 1 for row in rows)


def test_only_shares_are_percentages() -> None:
    row = {"share": 0.5, "logOdds": -0.1, "z": 0.93, "count": 114.78, "npmi": 0.663, "qValue": 0.00012, "seconds": 0.4}
    _, line = result_lines([row], list(row), None)
    assert line.split() == ["50.00%", "-0.10", "0.93", "115", "0.663", "0.0001", "0.4"]

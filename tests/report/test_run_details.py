"""The run report on the page: bounds that say nothing are called vacuous, with the reason, and warnings are shown."""

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

from spectral_spark import SpectralHDP
from spectral_spark.files.model_files import TopicModelFiles
from spectral_spark.report import build_report
from spectral_spark.report.page import render
from spectral_spark.report.run_details import Row, hood_tables
from spectral_spark.report.summary_text import answers

MakeFiles = Callable[..., TopicModelFiles]
BOUNDS: dict[str, Any] = {
    "delta": 0.05, "independent_documents": 250.0, "independent_groups": 2.0, "moments": 0.236, "tensor": 0.77,
    "third_tensor": 1.9, "root_moments": 2.64, "root_tensor": 8.6, "root_third_tensor": 11.0,
    "smallest_eigenvalue": 1e-4, "reconstruction": {
        "whitening": 86000.0, "whitened_tensor": None, "smallest_tensor_eigenvalue": 1.2, "weights": None,
        "topics": None, "missing": "the error of S2 must be below its smallest eigenvalue, and may be 8.6e+04 times as "
                                   "large",
    },
}
UNREAD = "a sample worth {} equal, independent {} says too little"


def bounds_of(files: TopicModelFiles) -> dict[str, Row]:
    (table,) = (table for table in hood_tables(files) if table.title == "Bounds")
    return {row.name: row for row in table.rows}


def with_report(files: TopicModelFiles, **summary: Any) -> TopicModelFiles:
    return replace(files, summary={**files.summary, **summary})


def test_bounds_that_exclude_nothing_are_vacuous_and_say_why(files: MakeFiles) -> None:
    rows = bounds_of(with_report(files(), bounds=BOUNDS))
    assert {name for name, row in rows.items() if "vacuous here" in row.value} == {
        "third tensor", "root moments", "root tensor", "root third tensor", "reconstructed weights",
        "reconstructed topics",
    }
    assert rows["third tensor"].meaning.endswith("because " + UNREAD.format("250", "documents"))
    assert rows["root moments"].value == "2.64 (vacuous here)"
    assert rows["root moments"].meaning.endswith("because " + UNREAD.format("2", "top-level groups"))
    assert rows["moments"] == Row("moments", "0.236", "first, second and third moments, given the groups")
    assert "may be 8.6e+04 times as large" in rows["reconstructed topics"].meaning


@pytest.mark.parametrize(("value", "vacuous"), [(sqrt(2.0) - 1e-9, False), (sqrt(2.0), True), (0.0, False)])
def test_a_bound_is_vacuous_from_the_largest_distance_on(files: MakeFiles, value: float, vacuous: bool) -> None:
    row = bounds_of(with_report(files(), bounds={"moments": value}))["moments"]
    assert ("vacuous here" in row.value) == vacuous
    assert ("because so few independent documents says too little" in row.meaning) == vacuous


def test_bounds_of_topics_that_hold_are_shown(files: MakeFiles) -> None:
    holds = {**BOUNDS["reconstruction"], "weights": 0.003, "topics": 0.02, "missing": ""}
    rows = bounds_of(with_report(files(), bounds={**BOUNDS, "reconstruction": holds}))
    assert (rows["reconstructed weights"].value, rows["reconstructed topics"].value) == ("0.003", "0.02")


@pytest.mark.parametrize("bounds", [None, 3, [], {"moments": None}, {"moments": "wide"}, {"reconstruction": 5},
                                    {"reconstruction": {}}, {"moments": 3.0, "independent_documents": "many"}])
def test_strange_bounds_leave_the_page_whole(files: MakeFiles, bounds: Any) -> None:
    assert "</html>" in render(with_report(files(), bounds=bounds), "strange")


def test_warnings_are_at_the_top_with_their_numbers(files: MakeFiles) -> None:
    said = ["40 topics were asked for, but only 10 of the 50 eigenvalues exceed the noise floor 0.0<2", "`k` is odd."]
    warned = with_report(files(), extra={"warnings": said, "third_moments": "all documents"})
    (answer,) = (answer for answer in answers(warned, None) if answer.question == "What did the fit warn of?")
    assert answer.figure == "2 warnings"
    assert answer.text == f"{said[0]}. `k` is odd."
    page = render(warned, "warned")
    assert page.count("40 topics were asked for, but only 10 of the 50 eigenvalues exceed the noise floor 0.0&lt;") == 1
    assert "all documents" in page
    assert "What did the fit warn of?" not in render(files(), "calm")


@pytest.mark.parametrize("extra", [None, 7, {"warnings": None}, {"warnings": "text"}, {"warnings": ["", 3]}])
def test_no_warnings_no_question(files: MakeFiles, extra: Any) -> None:
    assert "What did the fit warn of?" not in render(with_report(files(), extra=extra), "calm")


def test_the_page_of_a_fit_of_few_groups(documents: DataFrame, tmp_path: Path) -> None:
    """Three groups leave the bounds of the root empty; so many topics are not above the noise."""
    model = SpectralHDP(
        k=20, refinePasses=0, concentrations=[0.3], termsCol="terms", countsCol="counts", pathCol="path",
        idCol="doc_id", vocabSize=300,
    ).fit(documents)
    assert model.summary.bounds["root_moments"] > sqrt(2.0) > model.summary.bounds["moments"]
    (warning,) = model.summary.warnings
    assert warning.startswith("20 topics were asked for, but only ")
    model.save(str(tmp_path / "model"))
    build_report(str(tmp_path / "model"), str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text()
    groups = f"{model.summary.bounds['independent_groups']:.4g}"
    assert UNREAD.format(groups, "top-level groups") in page
    assert f"{model.summary.bounds['root_moments']:.4g} (vacuous here)" in page
    assert warning[1:60] in page

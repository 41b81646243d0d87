"""What models and summaries show of themselves, another fit from a model, and models of the first version."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.errors import InputError
from spectral_spark.files.model_files import METADATA
from spectral_spark.ml import persistence

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id"}


@pytest.fixture(scope="module")
def model(documents: DataFrame) -> SpectralHDPModel:
    words = [f"<w{i}>" for i in range(300)]
    return SpectralHDP(k=5, refinePasses=1, exploreSweeps=0, vocabulary=words, **ARRAYS).fit(documents)


def test_a_model_shows_its_topics(model: SpectralHDPModel) -> None:
    shown = repr(model)
    assert shown.startswith("SpectralHDPModel: 5 topics from ")
    heaviest = int(np.argmax(model.topicsMatrix()[:, 0]))
    assert f"<w{heaviest}>" in shown
    page = model._repr_html_()
    assert f"&lt;w{heaviest}&gt;" in page
    assert "<w" not in page
    HTMLParser().feed(page)


def test_a_summary_shows_itself_and_has_properties(model: SpectralHDPModel) -> None:
    summary = model.summary
    assert "topics" in repr(summary)
    assert "census, range 1, range 2" in repr(summary)
    assert summary.passNames[0] == "census"
    assert summary.droppedDocuments == sum(summary.dropped.values())
    assert summary.totalSeconds > 0
    assert "<table>" in summary._repr_html_()


def test_the_report_is_shown_or_written(model: SpectralHDPModel, tmp_path: Path) -> None:
    page = model.report()
    assert page.html.lstrip().lower().startswith("<!doctype html")
    assert page._repr_html_().startswith("<iframe srcdoc=")
    assert len(repr(page)) < 200
    target = tmp_path / "report.html"
    model.report(str(target), title="Notes")
    assert "Notes" in target.read_text()
    with pytest.raises(InputError, match="overwrite=True"):
        model.report(str(target))


def test_figures_are_pictures_without_pyplot_and_ordered_by_weight(model: SpectralHDPModel) -> None:
    figure = model.plotTopics(topics=2, words=6)
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    for axes, topic in zip(figure.axes, np.argsort(-model.weights)[:2], strict=True):
        widths = [bar.get_width() for bar in axes.patches]
        np.testing.assert_allclose(widths, np.sort(model.topicsMatrix()[:, topic])[::-1][:6])


def test_a_refit_reuses_basis_and_moments(model: SpectralHDPModel, documents: DataFrame, tmp_path: Path) -> None:
    model.save(str(tmp_path / "model"))
    same = SpectralHDPModel.load(str(tmp_path / "model")).refit(documents)
    assert same.topicsMatrix().tobytes() == model.topicsMatrix().tobytes()
    assert not {"range 1", "moments"} & set(same.summary.passNames)
    other = model.refit(documents, k=4)
    assert other.k == 4
    assert other.logPerplexity(documents) < model.solveAgain(k=4).logPerplexity(documents)
    larger = model.refit(documents, k=model.basis.size + 1, refinePasses=0, concentrations=[0.3])
    assert larger.basis.size > model.basis.size
    assert "range 1" in larger.summary.passNames
    part = model.refit(documents.limit(2000), k=4, refinePasses=0, concentrations=[0.3])
    assert "moments" in part.summary.passNames
    assert "range 1" not in part.summary.passNames


def test_parameters_of_the_first_version_are_accepted(model: SpectralHDPModel) -> None:
    metadata = persistence.params_metadata(model)
    assert "vocabulary" not in metadata["paramMap"]
    metadata["paramMap"]["vocabulary"] = ["as", "saved", "by", "0.1.0"]
    persistence.restore_params(model.copy(), metadata, METADATA, retired=("vocabulary",))
    assert model.vocabulary is not None
    assert len(model.vocabulary) == 300

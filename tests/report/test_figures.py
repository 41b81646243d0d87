"""Figures for notebooks, and the form pyLDAvis takes."""

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.model_files import TopicModelFiles
from spectral_spark.report.figures import plot_spectrum, plot_topics, plot_tree, to_pyldavis

pytest.importorskip("matplotlib", reason="figures need matplotlib")
Files = Callable[..., TopicModelFiles]


def png(figure: Any) -> bytes:
    sink = io.BytesIO()
    figure.savefig(sink, dpi=40)
    return sink.getvalue()


def test_the_spectrum_shows_floor_and_choice(files: Files) -> None:
    figure = plot_spectrum(files(k=12).summary)
    (axes,) = figure.axes
    kept, dropped = axes.lines[0], axes.lines[1]
    assert len(kept.get_xdata()) == 12
    assert len(dropped.get_xdata()) == 12
    assert any(np.allclose(line.get_ydata(), 0.1) for line in axes.lines[2:])
    assert png(figure).startswith(b"\x89PNG")
    with pytest.raises(InputError, match="no spectrum"):
        plot_spectrum({"k": 3})


def test_topics_are_the_largest_with_their_words(files: Files) -> None:
    model = files(k=12)
    figure = plot_topics(model, topics=5, words=4, relevance=1.0)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    order = np.argsort(-model.weights)[:5]
    assert [int(axes.get_title(loc="left").split()[0]) for axes in shown] == order.tolist()
    best = np.argsort(-model.topics[:, order[0]])[:4]
    assert [label.get_text() for label in shown[0].get_yticklabels()] == [f"w{word}" for word in best]
    assert png(figure)
    with pytest.raises(SettingsError, match="relevance"):
        plot_topics(model, relevance=2.0)


def test_the_tree_has_parents_above_children_and_full_bars(files: Files) -> None:
    figure = plot_tree(files(k=12), count=30, topics=3)
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 17
    assert labels[0].startswith("whole corpus (12,000)")
    for label in labels[1:]:
        if " › " in label:
            parent = label.split(" › ")[0]
            assert next(i for i, text in enumerate(labels) if text.startswith(f"{parent} (")) < labels.index(label)
    ends = [max(patch.get_x() + patch.get_width() for patch in axes.patches if abs(patch.get_y() + 0.375 - row) < 0.1)
            for row in range(17)]
    np.testing.assert_allclose(ends, 1.0)
    assert len(plot_tree(files(k=12), count=6).axes[0].get_yticklabels()) == 6


@pytest.mark.parametrize("settings", [{"k": 1}, {"k": 40, "widths": ()}, {"words": ("$\\frac{</b>",) * 400}])
def test_unusual_models_draw(files: Files, settings: dict[str, Any]) -> None:
    model = files(**settings)
    for figure in (plot_spectrum(model.summary), plot_topics(model), plot_tree(model)):
        assert png(figure)
    assert png(plot_topics(replace(model, vocabulary=None)))


def test_rows_for_pyldavis_sum_to_one_and_weigh_topics_as_the_tree_does(files: Files) -> None:
    model = files(k=6)
    topics = model.topics.copy()
    topics[5] = 0.0
    given = to_pyldavis(replace(model, topics=topics / topics.sum(axis=0)))
    assert given["topic_term_dists"].shape == (6, 400)
    np.testing.assert_allclose(given["topic_term_dists"].sum(axis=1), 1.0)
    np.testing.assert_allclose(given["doc_topic_dists"].sum(axis=1), 1.0)
    assert given["doc_topic_dists"].shape == (12, 6)
    assert len(given["vocab"]) == len(given["term_frequency"]) == 400
    np.testing.assert_allclose(given["doc_lengths"].sum(), 987_654)
    assert np.all(given["term_frequency"] > 0)
    assert np.all(given["topic_term_dists"] > 0)


def test_documents_for_pyldavis_are_checked(files: Files) -> None:
    model = files(k=3)
    rows = np.full((4, 3), 1 / 3)
    assert to_pyldavis(model, rows, np.full(4, 10))["doc_topic_dists"].shape == (4, 3)
    with pytest.raises(InputError, match="document_lengths"):
        to_pyldavis(model, rows)
    with pytest.raises(InputError, match="expected"):
        to_pyldavis(model, rows[:, :2], np.full(4, 10))


def test_pyldavis_takes_it(files: Files) -> None:
    prepare = pytest.importorskip("pyLDAvis", reason="pyLDAvis is not installed").prepare
    model = files(k=6)
    prepared = prepare(**to_pyldavis(model), mds="pcoa", n_jobs=1)
    assert len(prepared.topic_coordinates) == 6

"""Stability: what drifts is trusted less, it is stored with the model, and models without it stay readable."""

from pathlib import Path

import numpy as np
import pytest

from spectral_spark.errors import FormatError
from spectral_spark.files.directories import new_directory
from spectral_spark.files.model_files import (
    MODEL_KIND,
    MODEL_VERSION,
    NodeTable,
    TopicModelFiles,
    read_model_files,
    write_model_files,
)
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.fit.stability import return_probability, with_stability
from spectral_spark.report.payload import page_payload
from spectral_spark.report.topic_table import topic_table


def topics_of(k: int, dropped: list[int]) -> Topics:
    return Topics(np.full((5, k), 0.2), np.full(k, 1 / k), np.full((1, k), 1 / k), (1.0,), 1.0,
                  {"dropped_topics": dropped})


def test_a_topic_that_drifts_more_is_less_likely_to_come_back() -> None:
    drift = np.array([0.02, 0.1, 0.15, 0.2, 0.5])
    chance = return_probability(drift)
    assert (np.diff(chance) < 0).all()
    assert chance[0] > 0.95
    assert chance[-1] < 0.05
    assert (return_probability(np.full(3, 0.01)) > 0.95).all()          # nothing moves: all are stable


def test_dropped_topics_have_none_and_too_few_sweeps_leave_it_open() -> None:
    run = FitRun(drift=np.array([0.1, 0.5, 0.2]))
    found = with_stability(topics_of(2, [1]), run)
    assert found.stability == pytest.approx(return_probability(np.array([0.1, 0.5, 0.2]))[[0, 2]])
    assert with_stability(topics_of(3, []), FitRun(drift=np.full(3, np.nan))).stability is None
    assert with_stability(topics_of(3, []), FitRun()).stability is None


def saved(path: Path, stability: np.ndarray | None) -> str:
    topics = np.full((4, 2), 0.25)
    nodes = NodeTable(((),), np.array([3]), np.array([3.0]), np.array([[0.5, 0.5]]))
    summary = {"k": 2, "terms": 4, "documents": 3, "spectrum": [1.0, 0.5]}
    files = TopicModelFiles(topics, np.array([0.5, 0.5]), ("a", "b", "c", "d"), nodes, summary, stability=stability)
    with new_directory(path, MODEL_KIND, MODEL_VERSION) as staging:
        write_model_files(staging, files)
    return str(path)


def test_it_is_kept_with_the_model_and_shown(tmp_path: Path) -> None:
    files = read_model_files(saved(tmp_path / "known", np.array([0.25, 1.0])))
    assert files.stability == pytest.approx([0.25, 1.0])
    assert [row["stability"] for row in topic_table(files)] == [0.25, 1.0]
    assert page_payload(files, None)["topics"]["stability"] == [0.25, 1.0]
    older = read_model_files(saved(tmp_path / "unknown", None))
    assert older.stability is None
    assert page_payload(older, None)["topics"]["stability"] is None
    with pytest.raises(FormatError, match="stability"):
        read_model_files(saved(tmp_path / "wrong", np.array([0.5, 1.5])))

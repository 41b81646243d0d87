"""Labels belong to the model: they are saved with it, and updates carry them on."""

from dataclasses import replace
from pathlib import Path

import pytest

from spectral_spark import SpectralHDPModel, TopicModel
from spectral_spark.errors import InputError


def test_labels_are_saved_and_follow_their_topics(answering: SpectralHDPModel, tmp_path: Path) -> None:
    model = answering.copy()
    model.setLabels({0: "first", 3: "fourth"})
    assert [model.labels[topic] for topic in (0, 3)] == ["first", "fourth"]
    assert model.labels[1].startswith("w")
    model.save(str(tmp_path / "model"))
    assert (tmp_path / "model" / "labels.toml").exists()
    assert SpectralHDPModel.load(str(tmp_path / "model")).labels == model.labels
    assert TopicModel.load(str(tmp_path / "model")).describe_topics()[0]["label"] in model.labels
    moved = [{"topic": 0, "previous": 3}, {"topic": 1, "previous": None}, {"topic": 2, "previous": 1}]
    updated = model._labelled(replace(model._fitted, changes={"topics": moved}))
    assert dict(updated.labels) == {0: "fourth"}
    with pytest.raises(InputError, match="no topic '9'"):
        model.setLabels({9: "x"})

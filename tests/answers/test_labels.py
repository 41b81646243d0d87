"""Labels belong to the model: they are saved with it, and updates carry them on."""

from dataclasses import replace
from pathlib import Path

import pytest

from spectral_spark import SpectralHDPModel, TopicModel
from spectral_spark.errors import InputError
from spectral_spark.files.labels_file import checked_labels, parse_labels


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


@pytest.mark.parametrize(("content", "message"), [
    (b"[topics]\n" + b"9" * 5000 + b' = "x"\n', "there is no topic '999"),
    (b"[topics]\n1 = " + b"9" * 5000, "not valid TOML: a number in it has too many digits"),
    (b"x = " + b"[" * 10_000, "not valid TOML: it is nested too deeply"),
    (b'[topics]\n1 = "a"\n01 = "b"\n', "topic 1 has two labels"),
    (b"[topics]\n1 = [" + b"1," * 5000 + b"]\n", "the label of topic 1 is \\[1, 1, "),
    (b"[topics]\n1 = nan\n", "the label of topic 1 is nan"),
])
def test_a_hostile_file_of_labels_is_refused_in_one_short_line(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        parse_labels(content, "labels.toml", 5)
    assert "labels.toml" in str(refusal.value)
    assert len(str(refusal.value)) < 400


def test_half_a_character_is_no_label() -> None:
    with pytest.raises(InputError, match="topic 1 has half of a character"):
        checked_labels({1: "a\ud800"}, 5)

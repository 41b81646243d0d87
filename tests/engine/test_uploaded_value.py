"""Values whose arrays travel apart from them come back the same; what travels in the file are bare numbers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark import SparkFiles

from spectral_spark.engine import uploaded_value
from spectral_spark.engine.uploaded_value import UploadedValue, put_together, taken_apart
from spectral_spark.refine.fixed_topics import FixedTopics


@dataclass(frozen=True, eq=False)
class Nested:
    """An object of this package with others inside."""

    topics: FixedTopics
    paths: list[tuple[str, ...]]
    sizes: dict[str, np.ndarray]


Nested.__module__ = "spectral_spark.somewhere"


def file_of(arrays: list[np.ndarray]) -> memoryview:
    room = [uploaded_value._room(array) - array.nbytes for array in arrays]
    parts = (array.tobytes() + bytes(gap) for array, gap in zip(arrays, room, strict=True))
    return memoryview(bytearray(b"".join(parts)))


@pytest.mark.parametrize("array", [
    np.arange(7.0), np.asfortranarray(np.arange(12).reshape(3, 4)), np.arange(20)[::3], np.zeros((0, 5)), np.array(3.5),
    np.arange(24, dtype=np.uint8).reshape(2, 3, 4), np.array([True, False]), np.arange(20.0).reshape(4, 5)[:, 1:3],
])
def test_an_array_keeps_type_shape_and_bits(array: np.ndarray) -> None:
    bare, arrays = taken_apart({"before": np.arange(3, dtype=np.int8), "it": array})
    again = put_together(bare, file_of(arrays))["it"]
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()


def test_objects_of_this_package_are_taken_apart_and_stay_as_they_are() -> None:
    random = np.random.default_rng(0)
    topics = FixedTopics(random.dirichlet(np.ones(50), 4).T, random.dirichlet(np.ones(4), 3), 1.5)
    value = Nested(topics, [(), ("a",)], {"x": np.arange(5)})
    bare, arrays = taken_apart(value)
    assert sum(array.nbytes for array in arrays) == topics.topics.nbytes + topics.node_prior.nbytes + 5 * 8
    assert value.topics is topics
    assert isinstance(topics.topics, np.ndarray), "the driver's own value is not touched"
    again = put_together(bare, file_of(arrays))
    assert again.paths == value.paths
    assert again.topics.concentration == 1.5
    np.testing.assert_array_equal(again.topics.topics, topics.topics)
    np.testing.assert_array_equal(again.topics.node_prior, topics.node_prior)
    np.testing.assert_array_equal(again.sizes["x"], value.sizes["x"])


def test_objects_stay_in_the_value() -> None:
    words = np.array(["a", None], dtype=object)
    bare, arrays = taken_apart([words, "text"])
    assert not arrays
    assert bare[0] is words


def test_values_with_the_same_arrays_stay_apart_in_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)          # as Spark sets up a worker
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path))
    numbers = np.arange(6.0)

    def arrived(value: dict[str, Any]) -> dict[str, Any]:
        bare, arrays = taken_apart(value)
        (tmp_path / "same.bin").write_bytes(file_of(arrays))
        uploaded: UploadedValue[dict[str, Any]] = UploadedValue.__new__(UploadedValue)
        uploaded.__dict__.update(_value=None, _bare=bare, _name="same.bin")
        return uploaded()

    assert [arrived({"numbers": numbers, "rounds": rounds})["rounds"] for rounds in (1, 2)] == [1, 2]
    np.testing.assert_array_equal(arrived({"others": numbers.reshape(2, 3)})["others"], numbers.reshape(2, 3))

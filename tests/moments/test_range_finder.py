"""The range finder: M2 X, word scales, and a basis that spans topics and word mean."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from spectral_spark.errors import FormatError, InputError, SettingsError
from spectral_spark.files.directories import new_directory
from spectral_spark.ingest.simulate import random_topics, simulate_hdp
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.range_finder import (
    RangeKernel,
    apply_second_moment,
    finish_basis,
    first_probe,
    mean_words,
    next_probe,
    orthonormal,
    with_direction,
    word_scale,
)

D = 9


def test_second_moment_times_a_block(brute: SimpleNamespace) -> None:
    rng = np.random.default_rng(0)
    counts, nodes = rng.integers(0, 5, (40, D)), rng.integers(0, 3, 40)
    counts[:, 0] += 3
    counts[:, 4] = 0
    probe, factor = rng.standard_normal((D, 4)), rng.random(3)
    for by_length in (False, True):
        kernel = RangeKernel(D, None, by_length)
        batches = brute.slices(brute.batch_of(counts, nodes), 7)
        sums = brute.run(kernel, {"probe": probe, "factor": factor}, batches)
        weights = factor[nodes] * (counts.sum(axis=1) if by_length else 1.0)
        first, second, _ = brute.moments(counts, weights / weights.sum(), np.eye(D))
        assert np.abs(apply_second_moment(sums, probe) - second @ probe).max() < 1e-13
        assert np.abs(mean_words(sums) - first).max() < 1e-14
        assert np.allclose(sums["totals"], [weights.sum(), 40, counts.sum(), 0])


def test_capping_and_dropping_as_in_the_moment_pass(brute: SimpleNamespace) -> None:
    counts = np.array([[9, 0, 0], [5, 1, 1], [1, 1, 0]])
    kernel, shared = RangeKernel(3, 2), {"probe": np.eye(3), "factor": np.ones(1)}
    sums = brute.run(kernel, shared, [brute.batch_of(counts)])
    assert sums["totals"].tolist() == [4.0, 1.0, 4.0, 2.0]


def test_no_documents_is_an_error_and_no_nan(brute: SimpleNamespace) -> None:
    sums = brute.run(RangeKernel(3), {"probe": np.eye(3), "factor": np.ones(1)}, [brute.batch_of(np.eye(3))])
    with pytest.raises(InputError, match="no document is left"):
        mean_words(sums)


def find_basis(brute: SimpleNamespace, batch: object, columns: int, exponent: float, passes: int = 3) -> Basis:
    d = batch.vocab_size  # type: ignore[attr-defined]
    probe, scale, mean = first_probe(d, columns, 0), np.ones(d), np.zeros(d)
    for number in range(passes):
        sums = brute.run(RangeKernel(d, None, False), {"probe": probe, "factor": np.ones(2)}, brute.slices(batch, 512))
        image = apply_second_moment(sums, probe)
        if number == 0:
            mean = mean_words(sums)
            scale = word_scale(mean, exponent)
        probe = next_probe(image, scale)
    return finish_basis(image, scale, mean, "words")


@pytest.mark.parametrize("exponent", [0.0, 0.25, 0.5])
def test_the_basis_spans_topics_and_mean(brute: SimpleNamespace, exponent: float) -> None:
    corpus = simulate_hdp(random_topics(60, 4, 3), 4000, [1.0], 60, seed=5)
    basis = find_basis(brute, corpus.batch, 8, exponent)
    q = basis.directions
    assert np.abs(q.T @ q - np.eye(basis.size)).max() < 1e-12
    lengths = corpus.batch.lengths
    mean = np.asarray(corpus.batch.matrix.multiply(1.0 / lengths[:, None]).mean(axis=0)).ravel()
    assert np.abs(basis.lift @ (basis.projection.T @ mean) - mean).max() < 1e-12
    topics = basis.scale[:, None] * corpus.topics
    outside = np.linalg.norm(topics - q @ (q.T @ topics), axis=0) / np.linalg.norm(topics, axis=0)
    assert outside.max() < 0.1  # 4,000 documents of 60 words: sampling noise is what is left


def test_scales_are_relative_and_flatten_noise() -> None:
    mean = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
    assert np.allclose(word_scale(mean, 0.0), 1.0)
    scale = word_scale(mean, 0.5)
    assert np.all(np.diff(scale) > 0)
    assert np.isclose(mean @ np.log(scale), 0.0)
    assert np.allclose(word_scale(mean, 0.5), word_scale(mean * 1e-9, 0.5))
    with pytest.raises(SettingsError, match="exponent 2"):
        word_scale(mean, 2.0)
    with pytest.raises(InputError, match="no word occurs"):
        word_scale(np.zeros(3))


def test_a_missing_direction_is_appended_once() -> None:
    directions = np.eye(5)[:, :2]
    more = with_direction(directions, np.array([1.0, 0, 0, 2, 0]))
    assert more.shape == (5, 3)
    assert np.allclose(more[:, 2], [0, 0, 0, 1, 0])
    assert with_direction(more, np.array([1.0, 0, 0, 2, 0])) is more
    assert with_direction(np.eye(5), np.ones(5)).shape == (5, 5)


def test_deficient_blocks_stay_orthonormal() -> None:
    columns = np.outer(np.arange(6.0), [1.0, 2.0, 0.0])
    q = orthonormal(columns)
    assert np.abs(q.T @ q - np.eye(3)).max() < 1e-12
    with pytest.raises(InputError, match="not finite"):
        orthonormal(np.full((3, 2), np.nan))


def test_probes_are_seeded_and_bounded() -> None:
    assert np.array_equal(first_probe(7, 3, 1), first_probe(7, 3, 1))
    assert not np.array_equal(first_probe(7, 3, 1), first_probe(7, 3, 2))
    with pytest.raises(SettingsError, match="8 columns over 7 words"):
        first_probe(7, 8, 1)


def test_a_basis_comes_back_from_disk(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    basis = Basis(rng.random(6) + 0.1, np.linalg.qr(rng.standard_normal((6, 3)))[0], "the words")
    basis.save(tmp_path / "basis")
    again = Basis.load(tmp_path / "basis")
    assert again == basis
    assert again.fingerprint == basis.fingerprint
    assert np.array_equal(again.lift, basis.lift)
    assert Basis(basis.scale, basis.directions, "other words") != basis
    with new_directory(tmp_path / "model", "something", 1) as staging:
        basis.write_into(staging, "moments/basis/")
    with pytest.raises(FormatError, match="is a something"):
        Basis.load(tmp_path / "model")


def test_a_basis_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="4 directions over 3 words"):
        Basis(np.ones(3), np.ones((3, 4)))
    with pytest.raises(InputError, match="scale is not positive"):
        Basis(np.array([1.0, 0.0, 1.0]), np.eye(3))

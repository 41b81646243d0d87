"""The kernels of the passes against plain NumPy on all rows at once."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from spectral_spark.data.dense_batch import DenseBatch, local_batches, local_runner
from spectral_spark.ibp.covariance import CovarianceKernel, CovarianceRangeKernel
from spectral_spark.ibp.cumulants import CumulantKernel, gaussian_fourth, whitened_cumulants
from spectral_spark.ibp.packed_cumulants import quadruple_count, quadruple_indices, unpack4
from spectral_spark.ibp.row_means import MeanKernel
from spectral_spark.moments.symmetric_packing import pair_indices, unpack3


def rows(n: int, d: int, seed: int = 0, missing: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.gamma(2.0, size=(n, d)) + rng.standard_normal(d) * 5
    values[rng.random((n, d)) < missing] = np.nan
    return values


def tensor(y: np.ndarray, order: int) -> np.ndarray:
    subscripts = {3: "ni,nj,nk->ijk", 4: "ni,nj,nk,nl->ijkl"}[order]
    return np.einsum(subscripts, *[y] * order, optimize=True) / len(y)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_packed_positions_enumerate_the_distinct_entries(k: int) -> None:
    entries = quadruple_indices(k)
    assert entries.shape == (4, quadruple_count(k))
    assert (np.diff(entries, axis=0) >= 0).all()
    assert [tuple(entry) for entry in entries.T] == list(combinations_with_replacement(range(k), 4))
    packed = np.arange(float(quadruple_count(k)))
    first, second = pair_indices(k)
    for row, column in np.ndindex(len(first), len(first)):
        entry = sorted((first[row], second[row], first[column], second[column]))
        at = int(np.flatnonzero((entry == entries.T).all(axis=1))[0])
        assert unpack4(packed, k)[row, column] == at


@pytest.mark.parametrize("k", [1, 3, 8, 9, 17])
@pytest.mark.parametrize("batch_rows", [7, 1000])
def test_cumulant_sums_equal_brute_force(k: int, batch_rows: int) -> None:
    values, whitening = rows(300, 20), np.random.default_rng(1).standard_normal((20, k))
    mean = values.mean(axis=0)
    sums = local_runner(values, batch_rows)(CumulantKernel(), {"mean": mean, "whitening": whitening}, "")
    y = (values - mean) @ whitening
    np.testing.assert_allclose(sums["second"], y.T @ y, rtol=1e-10)
    third, fourth = tensor(y, 3), tensor(y, 4)
    np.testing.assert_allclose(unpack3(sums["third"] / 300, k), third, atol=1e-10 * abs(third).max())
    a, b = pair_indices(k)
    expected = fourth[a, b][:, a, b]
    np.testing.assert_allclose(unpack4(sums["fourth"] / 300, k), expected, atol=1e-10 * abs(fourth).max())
    assert sums["fourth"].shape == (k * (k + 1) * (k + 2) * (k + 3) // 24,)


def test_fourth_cumulant_is_the_moment_minus_three_pairings() -> None:
    values, whitening = rows(500, 6), np.random.default_rng(2).standard_normal((6, 3))
    mean = values.mean(axis=0)
    sums = local_runner(values)(CumulantKernel(), {"mean": mean, "whitening": whitening}, "")
    found = whitened_cumulants(sums, 500, mean, whitening)
    y = (values - mean) @ whitening
    c = y.T @ y / 500
    pairings = np.einsum("ij,kl->ijkl", c, c) + np.einsum("ik,jl->ijkl", c, c) + np.einsum("il,jk->ijkl", c, c)
    a, b = pair_indices(3)
    np.testing.assert_allclose(gaussian_fourth(c), pairings[a, b][:, a, b], rtol=1e-12)
    np.testing.assert_allclose(found.fourth, (tensor(y, 4) - pairings)[a, b][:, a, b], atol=1e-8)


def test_missing_values_sit_at_the_mean_in_every_pass() -> None:
    values = rows(200, 5, missing=0.1)
    run = local_runner(values, 64)
    sums = run(MeanKernel(5), {}, "")
    mean = np.nanmean(values, axis=0)
    np.testing.assert_allclose(sums["sum"] / sums["present"], mean, rtol=1e-12)
    np.testing.assert_array_equal(200 - sums["present"], np.isnan(values).sum(axis=0))
    centred = np.where(np.isnan(values), mean, values) - mean
    upper = run(CovarianceKernel(), {"mean": mean}, "")["product"]
    np.testing.assert_allclose(np.triu(upper), np.triu(centred.T @ centred), atol=1e-9)
    probe = np.random.default_rng(3).standard_normal((5, 2))
    sketch = run(CovarianceRangeKernel(), {"mean": mean, "probe": probe}, "")
    np.testing.assert_allclose(sketch["product"], centred.T @ centred @ probe, atol=1e-9)
    np.testing.assert_allclose(sketch["squares"], (centred**2).sum(axis=0), atol=1e-9)
    whitened = run(CumulantKernel(), {"mean": mean, "whitening": probe}, "")["second"]
    np.testing.assert_allclose(whitened, probe.T @ centred.T @ centred @ probe, atol=1e-9)


def test_a_mean_far_from_zero_costs_no_digits() -> None:
    values = np.random.default_rng(4).standard_normal((2000, 4)) + 1e8
    mean, whitening = values.mean(axis=0), np.eye(4)
    found = local_runner(values)(CumulantKernel(), {"mean": mean, "whitening": whitening}, "")["second"]
    exact = (values - mean).T @ (values - mean)
    np.testing.assert_allclose(found, exact, atol=1e-9 * np.trace(exact))


def test_states_add_up() -> None:
    values = rows(400, 6)
    shared = {"mean": values.mean(axis=0), "whitening": np.eye(6)[:, :3]}
    whole = local_runner(values)(CumulantKernel(), shared, "")
    parts = [local_runner(part)(CumulantKernel(), shared, "") for part in (values[:150], values[150:])]
    for name, array in whole.items():
        np.testing.assert_allclose(parts[0][name] + parts[1][name], array, rtol=1e-9, atol=1e-9)


def test_single_precision_rows_are_summed_in_double() -> None:
    values = rows(100, 4).astype(np.float32)
    sums = local_runner(values)(MeanKernel(4), {}, "")
    assert sums["sum"].dtype == np.float64
    np.testing.assert_allclose(sums["sum"], values.astype(np.float64).sum(axis=0), rtol=1e-14)
    batch = next(iter(local_batches(values)))
    assert isinstance(batch, DenseBatch)
    assert batch.centred(np.zeros(4)).dtype == np.float64

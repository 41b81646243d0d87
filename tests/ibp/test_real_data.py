"""Features of real data: the block images everybody uses, and gene signatures of drugs in the liver."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.io import loadmat
from scipy.stats import rankdata

from spectral_spark.ibp import IbpSettings, fit_features, local_runner
from spectral_spark.ibp.likelihood import RowReader

from .exact_moments import matched

pytestmark = pytest.mark.data


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float:
    """Probability that a positive ranks above a negative, or below it, whichever is larger."""
    hits, misses = positive.sum(), (~positive).sum()
    area = (rankdata(scores)[positive].sum() - hits * (hits + 1) / 2) / (hits * misses)
    return float(max(area, 1 - area))


def test_block_images_show_their_four_features(real_data: Path) -> None:
    content = loadmat(real_data / "ibp" / "block_image_set.mat")
    values, truth = content["data"], content["trueWeights"].T.astype(float)
    found = fit_features(local_runner(values), 36, IbpSettings(polish=1))
    assert found.model.k == 4
    assert found.recovery.offset == "free"                              # the published set is centred
    order = matched(found.model.dictionary, truth)
    assert np.sqrt(((found.model.dictionary[:, order] - truth) ** 2).mean()) < 0.02
    codes = RowReader(found.model).read(values).codes[:, order]
    assert (codes == content["features"][: len(values)]).mean() > 0.98


def test_single_signatures_tell_fibrates_and_statins_from_the_rest(real_data: Path) -> None:
    table = pq.read_table(real_data / "ibp" / "gse2187.parquet")
    values = np.array([np.asarray(row, np.float64) for row in table["log_ratio"].to_pylist()])
    treatment = np.array([name or "" for name in table["treatment"].to_pylist()])
    found = fit_features(local_runner(values), values.shape[1], IbpSettings(kind="isfa", k=10, missing="mean"))
    assert found.means.missing.sum() == np.isnan(values).sum()
    known = treatment != ""
    codes = RowReader(found.model).read(values[known]).codes
    for name in ("fibrate", "statin"):
        assert max(area_under_curve(column, treatment[known] == name) for column in codes.T) > 0.8

"""groupBalance within a fit: where it counts, where it does not, and that bits do not depend on Spark."""

from typing import Any

import numpy as np
import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.engine.corpus import Corpus
from spectral_spark.errors import SettingsError
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.fit import gibbs_step
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.refine.fold_in import FoldInKernel
from spectral_spark.tree import group_weights

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "idCol": "doc_id", "vocabSize": 300}


def every_tenth(first: int) -> Column:
    return F.substring("doc_id", 2, 9).cast("int") % 10 == first


@pytest.fixture(scope="module")
def unequal(documents: DataFrame) -> DataFrame:
    """All documents of group a, every tenth of b."""
    return documents.filter((F.col("path")[0] == "a") | every_tenth(0)).cache()


def fit(frame: DataFrame, **given: object) -> SpectralHDPModel:
    settings = {"k": 5, "refinePasses": 1, "exploreSweeps": 20, "concentrations": [0.5], **ARRAYS, **given}
    return SpectralHDP(**settings).fit(frame)


@pytest.fixture(scope="module")
def plain(unequal: DataFrame) -> SpectralHDPModel:
    return fit(unequal)


@pytest.fixture(scope="module")
def alike(unequal: DataFrame) -> SpectralHDPModel:
    return fit(unequal, groupBalance=1.0)


def test_none_is_what_it_was(unequal: DataFrame, plain: SpectralHDPModel) -> None:
    again = fit(unequal, groupBalance=0.0)
    assert again.topicsMatrix().tobytes() == plain.topicsMatrix().tobytes()
    assert again.nodes.proportions.tobytes() == plain.nodes.proportions.tobytes()
    assert plain.summary.settings["group_balance"] == 0.0


def moved(plain: SpectralHDPModel, alike: SpectralHDPModel) -> float:
    """How far the topics' shares of the words have moved from group a's to group b's, and as a part of what the
    documents' weights say: b has an eleventh of the documents, and now counts as much as a."""
    before = plain.weights[recovery(plain.topicsMatrix(), alike.topicsMatrix()).match]
    shares = dict(zip(alike.nodes.paths, alike.nodes.proportions, strict=True))
    apart = shares["b",] - shares["a",]
    return float((alike.weights - before) @ apart / ((1 / 2 - 1 / 11) * apart @ apart))


def test_topics_change_and_moments_do_not(plain: SpectralHDPModel, alike: SpectralHDPModel) -> None:
    assert alike.summary.settings["group_balance"] == 1.0
    assert alike.moments == plain.moments
    assert np.abs(alike.topicsMatrix() - plain.topicsMatrix()).max() > 1e-4
    assert moved(plain, alike) > 0.2                    # sampling moves topics of its own, this way or that


def test_as_far_as_the_weights_say(unequal: DataFrame) -> None:
    assert moved(fit(unequal, exploreSweeps=0), fit(unequal, exploreSweeps=0, groupBalance=1.0)) == \
        pytest.approx(1.0, abs=0.3)


def test_without_groups_there_is_nothing_to_balance(unequal: DataFrame) -> None:
    one, other = (fit(unequal, layers=2, groupBalance=balance) for balance in (0.0, 1.0))
    assert one.topicsMatrix().tobytes() == other.topicsMatrix().tobytes()


@pytest.mark.usefixtures("on_executors")
def test_bits_depend_neither_on_partitions_nor_on_threads(
    unequal: DataFrame, alike: SpectralHDPModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gibbs_step, "driver_threads", lambda _: 3)
    again = fit(unequal.repartition(7), groupBalance=1.0)
    assert again.topicsMatrix().tobytes() == alike.topicsMatrix().tobytes()
    assert again.nodes.proportions.tobytes() == alike.nodes.proportions.tobytes()


def test_an_update_weighs_new_documents_by_the_grown_groups(
    documents: DataFrame, alike: SpectralHDPModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights: list[dict[tuple[str, ...], float]] = []
    absorb = Corpus.sum

    def watched(corpus: Any, kernel: Any, shared: Any, **given: Any) -> Any:
        assert shared["node_weight"].shape == shared["concentration"].shape
        if not isinstance(kernel, FoldInKernel):             # the replay weighs all documents of its sample
            return absorb(corpus, kernel, shared, **given)
        weights.append(dict(zip(("root", "b", "b/x", "b/y"), shared["node_weight"].tolist(), strict=True)))
        return absorb(corpus, kernel, shared, **given)

    monkeypatch.setattr(Corpus, "sum", watched)
    more = documents.filter((F.col("path")[0] == "b") & every_tenth(1))
    grown = alike.update(more)
    back = grown.update(more, remove=True)
    whole = dict(zip(grown.nodes.paths, group_weights(grown.moments.census, 1.0).tolist(), strict=True))
    assert 1 < whole["b",] < dict(zip(alike.nodes.paths, group_weights(alike.moments.census, 1.0), strict=True))["b",]
    assert [found["b/x"] for found in weights] == [found["b/y"] for found in weights] == [whole["b",]] * 2
    assert grown.summary.settings["group_balance"] == back.summary.settings["group_balance"] == 1.0
    assert back.moments.difference(alike.moments) < 1e-12
    # what came with a weight leaves with it: topics are nearly what they were
    assert np.abs(back.topicsMatrix() - alike.topicsMatrix()).sum(axis=0).max() / 2 < 0.1


def test_old_reports_are_of_fits_without(plain: SpectralHDPModel) -> None:
    known = dict(plain.summary.settings)
    assert FitSettings.from_dict(known).group_balance == 0.0
    del known["group_balance"]
    assert FitSettings.from_dict(known) == FitSettings.from_dict(plain.summary.settings)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan"), "half", True])
def test_other_values_are_refused(wrong: object) -> None:
    with pytest.raises(SettingsError, match=r"groupBalance is .*; give a number from 0 to 1"):
        SpectralHDP(groupBalance=wrong)

"""Settings that contradict each other, or the tree, are refused with one sentence before anything is computed."""

from typing import Any

import pytest
from pyspark.sql import DataFrame

from spectral_spark import SpectralHDP, SpectralIBP
from spectral_spark.engine.corpus import Corpus
from spectral_spark.errors import SettingsError
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.settings_check import check_features, check_levels, check_together
from spectral_spark.ibp.solve_features import IbpSettings

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabSize": 300}


@pytest.mark.parametrize(("given", "message"), [
    ({"k": 9, "basisSize": 5}, "raise `basisSize` to at least 9"),
    ({"countCap": 0.5}, r"`countCap` is 0\.5; words are counted in whole numbers"),
    ({"countCap": 2.5}, "give one, or 0 for no cap"),
    ({"concentrations": [1.0, 2.0], "layers": 4}, "2 numbers for 4 layers; give 3, .* or one for the documents alone"),
    ({"concentrations": [1.0, 2.0], "layers": 2}, "2 numbers for 2 layers; give 1, one per layer below the root$"),
    ({"concentrations": "calibrated", "tensors": "groups"}, "needs the moments of the whole corpus"),
    ({"tensors": "groups", "layers": 2}, "`layers=2` ignores the groups"),
    ({"tensors": "groups", "solver": "implicit"}, "`solver=implicit` does not collect"),
    ({"preset": "paper", "solver": "polar"}, "`solver=polar` is not in the paper, and `preset=paper` follows it"),
    ({"preset": "paper", "solver": "implicit"}, "use one of power, als, sketch"),
    ({"preset": "paper", "spectralStep": "robust"}, "leave out `spectralStep`, or the preset"),
    ({"preset": "paper", "tensors": "groups"}, "decomposes the tensor of the root"),
    ({"spectralStep": "printed", "solver": "polar"}, "`spectralStep=printed` follows it to the letter"),
    ({"refinePasses": 0, "exploreSweeps": 30}, "asks for 30 sweeps; give at least one pass"),
    ({"preset": "paper", "exploreSweeps": 5}, "`refinePasses=0` leaves out sampling"),
    ({"nodeSums": "keep"}, "with `weighting=tokens` there are none"),
])
def test_topics(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        SpectralHDP(**given).fitSettings()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [
    {}, {"concentrations": [0.5], "layers": 4}, {"concentrations": [3.0, 0.5], "layers": 3},
    {"concentrations": [9.0, 3.0, 0.5]}, {"concentrations": "calibrated", "layers": 2},
    {"refinePasses": 0, "exploreSweeps": 0}, {"refinePasses": 0}, {"preset": "paper", "solver": "als"},
    {"preset": "paper", "refinePasses": 1, "exploreSweeps": 5}, {"preset": "paper", "solver": "auto"},
    {"nodeSums": "keep", "weighting": "ess"}, {"countCap": 0}, {"countCap": 3},
])
def test_settings_that_go_together_do(given: dict[str, Any]) -> None:
    SpectralHDP(**given).fitSettings()


def test_the_printed_step_takes_a_printed_solver() -> None:
    assert FitSettings(spectral_step="printed").solver == "power"
    assert SpectralHDP(preset="paper", solver="auto").fitSettings().overridden == {}
    assert FitSettings().solver == "auto"


@pytest.mark.parametrize(("given", "message"), [
    ({"k": 9, "basisSize": 5}, "raise `basisSize` to at least 9"),
    ({"kind": "isfa", "offset": "none"}, "isfa always has an offset"),
    ({"kind": "iica", "probabilitiesFrom": "mean"}, "`probabilitiesFrom=mean` is for binary features"),
    ({"offset": "free", "probabilitiesFrom": "mean"}, "for features without an offset"),
    ({"noiseVariance": 0.1, "noiseRule": "smallest-eigenvalue"}, "`noiseVariance` gives the variance"),
    ({"kurtosis": 4.0}, "kurtosis"), ({"missing": "pairwise", "polish": 2}, "`polish` needs complete rows"),
])
def test_features(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        SpectralIBP(**given).fitSettings()


def test_plain_settings_are_checked_in_the_same_way() -> None:
    check_together(FitSettings())
    check_features(IbpSettings(kind="isfa", kurtosis="estimate"))
    with pytest.raises(SettingsError, match="leaves out sampling"):
        check_together(FitSettings(refine_passes=0, explore_sweeps=3))


@pytest.mark.parametrize(("depth", "given", "wanted"), [(0, (1.0, 2.0), 1), (2, (1.0, 2.0), 3), (1, (1.0,) * 5, 2)])
def test_levels_that_the_tree_does_not_have(depth: int, given: tuple[float, ...], wanted: int) -> None:
    with pytest.raises(SettingsError, match=f"has {len(given)} numbers, but the tree has {depth + 2} layers; give "
                                            f"{wanted}, one per layer"):
        check_levels(FitSettings(concentrations=given), depth)
    check_levels(FitSettings(concentrations=given[:1]), depth)
    check_levels(FitSettings(concentrations=(1.0,) * (depth + 1)), depth)


@pytest.mark.parametrize(("given", "message"), [
    ({"concentrations": [3.0, 0.5]}, "`concentrations` has 2 numbers, but the tree has 4 layers; give 3"),
    ({"tensors": "groups", "pathCol": "nowhere"}, "these documents have no groups"),
])
def test_the_tree_is_looked_at_before_any_pass(
    documents: DataFrame, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], message: str
) -> None:
    def passed(*_: object, **__: object) -> None:
        raise AssertionError("a pass over the documents")

    monkeypatch.setattr(Corpus, "sum", passed)
    monkeypatch.setattr(Corpus, "sum_halves", passed)
    rootless = documents.selectExpr("*", "cast(array() as array<string>) as nowhere")
    with pytest.raises(SettingsError, match=message):
        SpectralHDP(**{"k": 5, **ARRAYS, **given}).fit(rootless)

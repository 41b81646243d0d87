"""Parameters as users of pyspark.ml expect them: getters, setters, shared mixins, signatures, explanations."""

import inspect
from typing import Any

import pytest
from pyspark.ml.param.shared import HasFeaturesCol, HasSeed, HasSolver

from spectral_spark import SpectralHDP, SpectralHDPModel, SpectralIBP, SpectralIBPModel
from spectral_spark.data.setting import Setting, SettingsTable
from spectral_spark.data.settings import HDP, IBP
from spectral_spark.errors import SettingsError
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.ibp.solve_features import IbpSettings

ESTIMATORS = [(SpectralHDP, HDP), (SpectralIBP, IBP)]


def example_value(setting: Setting) -> Any:
    """A value that the setting may have."""
    kind = setting.type.annotation
    if setting.default is not None or setting.options:
        return setting.options[0] if setting.default is None else setting.default
    if "bool" in kind:
        return True
    return 3 if "int" in kind else 1.5 if "float" in kind else ["a"] if "Sequence" in kind else "a"


@pytest.mark.parametrize(("estimator", "table"), ESTIMATORS)
def test_every_setting_has_a_parameter_a_getter_and_a_setter(estimator: Any, table: SettingsTable) -> None:
    assert {param.name for param in estimator().params} == {setting.name for setting in table}
    for setting in table:
        name = setting.name[0].upper() + setting.name[1:]
        made = estimator()
        assert getattr(made, f"get{name}")() == setting.default
        value = example_value(setting)
        assert getattr(made, f"set{name}")(value) is made
        assert getattr(made, f"get{name}")() == value
        assert made.isSet(setting.name)
        assert not getattr(made, f"set{name}")(None).isSet(setting.name)


@pytest.mark.parametrize(("estimator", "table"), ESTIMATORS)
@pytest.mark.parametrize("method", ["__init__", "setParams"])
def test_signatures_show_the_parameters_and_their_defaults(estimator: Any, table: SettingsTable, method: str) -> None:
    shown = list(inspect.signature(getattr(estimator, method)).parameters.values())[1:]
    assert [(given.name, given.default) for given in shown] == [(setting.name, setting.default) for setting in table]
    assert all(given.kind is inspect.Parameter.KEYWORD_ONLY for given in shown)


@pytest.mark.parametrize("estimator", [SpectralHDP, SpectralIBP])
def test_shared_mixins_with_our_own_defaults(estimator: Any) -> None:
    made = estimator()
    assert issubclass(estimator, HasFeaturesCol)
    assert issubclass(estimator, HasSeed)
    assert issubclass(estimator, HasSolver)
    assert made.getSeed() == 0                  # the mixin's own default is a hash that differs in every process


def test_models_can_be_told_their_columns_only() -> None:
    assert hasattr(SpectralHDPModel, "setTopicDistributionCol")
    assert hasattr(SpectralIBPModel, "setCodesCol")
    assert not any(hasattr(SpectralHDPModel, name) for name in ("setSolver", "setK", "setSeed", "setRefinePasses"))


@pytest.mark.parametrize("estimator", [SpectralHDP, SpectralIBP])
def test_a_wrong_name_is_refused_with_the_right_one(estimator: Any) -> None:
    for call in (estimator, estimator().setParams):
        with pytest.raises(SettingsError, match=r"there is no parameter 'topics'; did you mean 'k'\?"):
            call(topics=3)
    with pytest.raises(SettingsError, match=r"solver is 'pola'; choose one of"):
        estimator().setSolver("pola")


def test_explanations_are_short_lines() -> None:
    text = SpectralHDP(k=7, vocabulary=[f"word{i}" for i in range(10_000)]).explainParams()
    assert "k: Number of topics" in text
    assert "(default: auto, current: 7)" in text
    assert max(map(len, text.splitlines())) < 400


def test_plain_settings_have_the_defaults_of_the_table() -> None:
    assert SpectralHDP().fitSettings() == FitSettings()
    assert SpectralIBP().fitSettings() == IbpSettings()
    assert SpectralHDP(concentrations=[1, 2.5]).fitSettings().concentrations == (1.0, 2.5)


@pytest.mark.parametrize(("estimator", "table"), ESTIMATORS)
def test_the_docstring_explains_every_parameter(estimator: type, table: SettingsTable) -> None:
    lines = (estimator.__doc__ or "").splitlines()
    for setting in table:
        assert any(line.startswith(f"    {setting.name} : ") for line in lines), setting.name

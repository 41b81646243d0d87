"""The table of settings: what it says is what the solvers, the estimators and the generated files have."""

from pathlib import Path

import pytest

from spectral_spark.cli.flags import whole_number
from spectral_spark.cli.generate import generated_files
from spectral_spark.data.setting import Audience, SettingsTable
from spectral_spark.data.settings import HDP, IBP, INGEST
from spectral_spark.data.value_types import (
    Choice,
    Number,
    PositiveNumbers,
    Text,
    TextOrWhole,
    Texts,
    ValueType,
    Whole,
    nearest,
)
from spectral_spark.errors import SettingsError
from spectral_spark.ibp.source_kinds import KINDS
from spectral_spark.ibp.spectrum import MAX_FEATURES
from spectral_spark.solve.rank import RULES
from spectral_spark.solve.solvers import SOLVERS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", list(generated_files(ROOT)))
def test_generated_files_equal_the_table(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == generated_files(ROOT)[path], (
        f"{path} is not what the table says; run python -m spectral_spark.cli.generate"
    )


def test_every_choice_is_implemented() -> None:
    assert set(HDP["solver"].options) == {"auto", *SOLVERS}
    assert set(HDP["rankRule"].options) == set(RULES)
    assert set(IBP["kind"].options) == set(KINDS)
    assert IBP["k"].type == Whole(1, MAX_FEATURES, "auto")


@pytest.mark.parametrize("table", [HDP, IBP, INGEST], ids=lambda table: table.title)
def test_the_table_is_complete(table: SettingsTable) -> None:
    names = [setting.name for setting in table]
    assert len(set(names)) == len(names)
    for setting in table:
        assert setting.default is None or setting.check(setting.default) == setting.default
        assert setting.help[0].isupper(), setting.name
        assert setting.help.endswith("."), setting.name
        assert setting.audience in Audience


def test_one_name_in_three_spellings() -> None:
    setting = HDP["basisSize"]
    assert (setting.name, setting.attribute, setting.flag) == ("basisSize", "basis_size", "basis-size")


@pytest.mark.parametrize(("kind", "text", "value"), [
    (Whole(1, word="auto"), "auto", "auto"), (Whole(1), "7", 7), (Whole(0), 3.0, 3), (Number(0, 1), "0.5", 0.5),
    (Number(0), 16, 16.0), (Choice(("a", "b")), "b", "b"), (Text(), "x", "x"), (TextOrWhole(), 1000, "1000"),
    (Texts(), "a, b", ["a", "b"]), (Texts(), ("a",), ["a"]), (PositiveNumbers(("auto",)), "0.5,2", [0.5, 2.0]),
    (whole_number(1), str(1 << 40), 1 << 40), (PositiveNumbers(), [1, 2], [1.0, 2.0]), (PositiveNumbers(), 2, [2.0]),
])
def test_values_are_read(kind: ValueType, text: object, value: object) -> None:
    assert (kind(text) if isinstance(text, str) else kind.check(text)) == value


@pytest.mark.parametrize(("kind", "value", "message"), [
    (Whole(1, word="auto"), 0, "is 0; give a whole number of at least 1, or 'auto'"),
    (Whole(1), True, "is True; give"), (Whole(1), 2.5, "is 2.5; give"), (Whole(1), [1], r"is \[1\]; give"),
    (Whole(1), float("nan"), "is nan; give"), (Whole(1), 10**20, "give a whole number of at least 1"),
    (Whole(0, 40), 41, "give a whole number from 0 to 40"), (Number(0, 1), "x", "is 'x'; give a number from 0 to 1"),
    (Number(0, 1, above=True), 0, "give a number above 0 and up to 1"), (Number(0), float("nan"), "of at least 0"),
    (Choice(("polar", "als")), "polr", "choose one of polar, als; did you mean 'polar'?"), (Text(), 5, "is 5; give"),
    (Texts(), "word", "is 'word'; give"), (Texts(), ["a", 3], "has 3 at place 1"),
    (PositiveNumbers(("auto",)), [1, -1], "has -1 at place 1"), (PositiveNumbers(("auto",)), [], "is .*; give 'auto'"),
])
def test_wrong_values_say_what_is_expected(kind: ValueType, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind.check(value)


@pytest.mark.parametrize(("name", "meant"), [
    ("topics", "k"), ("num_topics", "k"), ("alpha", "concentrations"), ("random_state", "seed"),
    ("basis_size", "basisSize"), ("refinepasses", "refinePasses"), ("maxIter", "refinePasses"),
])
def test_a_wrong_name_gets_the_right_one(name: str, meant: str) -> None:
    assert isinstance(HDP.unknown(name), SettingsError)
    assert str(HDP.unknown(name)) == f"there is no parameter '{name}'; did you mean '{meant}'?"
    assert "explainParams() lists them" in str(HDP.unknown("zzzzzzzz"))


def test_the_nearest_of_a_million_names_is_found_among_those_that_begin_or_end_alike() -> None:
    names = [f"node-{number:07}" for number in range(1_000_000)]
    assert nearest("coast/Seagat", [*names, "coast/Seagate"]) == "; did you mean 'coast/Seagate'?"
    assert nearest("zoast/Seagate", [*names, "coast/Seagate"]) == "; did you mean 'coast/Seagate'?"
    assert nearest("x" * 1_000_000, ["y"]) == ""

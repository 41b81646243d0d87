import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_spark.errors import SettingsError
from spectral_spark.text.tokeniser import MAX_WORD_LENGTH, Tokeniser, load_stop_words

PLAIN = Tokeniser(frozenset(), 1)
ENGLISH = Tokeniser(load_stop_words("english"), 3)


def test_words_are_lower_case_and_counted() -> None:
    assert PLAIN.counts("Gas gas, GAS; power-plant") == {"gas": 3, "power": 1, "plant": 1}


def test_anything_with_a_digit_is_dropped_whole() -> None:
    assert PLAIN.counts("q3 2001 9am mp3 abc_def x") == {"abc": 1, "def": 1, "x": 1}


@pytest.mark.parametrize(("text", "words"), [
    ("John's house", {"john": 1, "house": 1}),
    ("O'Brien’s offer", {"obrien": 1, "offer": 1}),
    ("'quoted' words'", {"quoted": 1, "words": 1}),
    ("we'll don't can’t it's", {}),
])
def test_apostrophes(text: str, words: dict[str, int]) -> None:
    assert ENGLISH.counts(text) == words


@pytest.mark.parametrize(("text", "words"), [
    ("Größe naïve Ελλάδα", {"größe", "naïve", "ελλάδα"}),
    ("cafe\u0301 café", {"café"}),
    ("हिन्दी शब्द", {"हिन्दी", "शब्द"}),
    ("ﬁnance", {"finance"}),
    ("١٢٣ ٣٤ слово", {"слово"}),
])
def test_words_of_other_scripts(text: str, words: set[str]) -> None:
    assert set(PLAIN.counts(text)) == words


def test_addresses_are_not_words() -> None:
    assert PLAIN.counts("see http://a.example/x or mail bob@enron.com at www.example.com now") == {
        "see": 1, "or": 1, "mail": 1, "at": 1, "now": 1}


def test_length_limits() -> None:
    assert ENGLISH.counts("ox " + "x" * (MAX_WORD_LENGTH + 1) + " oxen") == {"oxen": 1}


@given(st.text(max_size=200))
def test_any_text_gives_only_lower_case_words_without_digits(text: str) -> None:
    for word, count in ENGLISH.counts(text).items():
        assert count > 0
        assert len(word) >= 3
        assert word not in ENGLISH.stop_words
        assert not any(c.isdigit() or c.isspace() or c in "'_" for c in word)


def test_a_long_run_without_spaces_takes_no_quadratic_time() -> None:
    assert PLAIN.counts("a" * 2_000_000 + "@" + "b" * 2_000_000) == {}
    assert PLAIN.counts("é" * 2_000_000) == {}


def test_a_tokeniser_travels_without_its_memory() -> None:
    ENGLISH.counts("some words here")
    copy = pickle.loads(pickle.dumps(ENGLISH))
    assert copy.counts("powerful plants") == ENGLISH.counts("powerful plants")
    assert len(pickle.dumps(ENGLISH)) < 20_000


def test_stop_word_lists(tmp_path: Path) -> None:
    own = tmp_path / "stop.txt"
    own.write_text("# mine\nFoo\nbar # too\n\n")
    assert load_stop_words(str(own)) == {"foo", "bar"}
    assert load_stop_words("none") == frozenset()
    assert {"the", "and", "we'll"} <= load_stop_words("english")
    with pytest.raises(SettingsError, match="stop words"):
        load_stop_words(str(tmp_path / "absent.txt"))


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\uff9e\u0334"])
def test_piles_of_marks_take_no_quadratic_time(marks: str) -> None:
    assert PLAIN.counts("word a" + marks * 1_000_000).keys() - {"word"} == PLAIN.counts("a" + marks * 15).keys()


def test_words_with_many_marks_stay_whole() -> None:
    assert PLAIN.counts("a" + "\u0316\u0301" * 15) == PLAIN.counts("á" + "\u0316" * 15 + "\u0301" * 14)

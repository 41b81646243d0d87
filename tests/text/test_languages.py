"""Other languages: lists of stop words, scripts without spaces, elided articles, lemmas."""

import pickle

import pytest

from spectral_spark.errors import SettingsError
from spectral_spark.text.language_tokeniser import LanguageTokeniser
from spectral_spark.text.languages import LANGUAGES, language_codes, stop_words_of
from spectral_spark.text.tokeniser import load_stop_words


def test_languages_by_code_and_name() -> None:
    assert language_codes(["de", "English", "FRENCH"]) == ("de", "en", "fr")
    with pytest.raises(SettingsError, match="did you mean 'german'"):
        language_codes(["germann"])
    with pytest.raises(SettingsError, match="did you mean 'german'"):
        load_stop_words("gernam")


def test_lists_of_stop_words() -> None:
    pytest.importorskip("stopwordsiso", reason="the extra 'languages' is not installed")
    lists = {code: stop_words_of(code) for code in LANGUAGES}
    assert len(lists) >= 20
    assert all(len(words) >= 20 and all(word == word.lower() for word in words) for words in lists.values())
    assert {"und", "nicht", "the"} <= load_stop_words("german,en")
    assert load_stop_words("english") == load_stop_words("en")
    assert LanguageTokeniser(load_stop_words("de"), 3, ("de",)).counts("Die Häuser und nicht die Straße") == {
        "häuser": 1, "straße": 1}


def test_elided_articles_are_cut_off() -> None:
    tokeniser = LanguageTokeniser(frozenset(["l", "c'est"]), 3, ("fr",))
    assert tokeniser.counts("L'homme, c’est aujourd'hui; l'été") == {"homme": 1, "aujourdhui": 1, "été": 1}


def test_lemmas() -> None:
    pytest.importorskip("simplemma", reason="the extra 'languages' is not installed")
    tokeniser = LanguageTokeniser(frozenset(["be"]), 3, ("de", "en"), lemmas=True)
    assert tokeniser.counts("houses Häuser house were") == {"house": 2, "haus": 1}
    assert LanguageTokeniser(frozenset(), 3, lemmas=True).counts("houses") == {"house": 1}
    assert pickle.loads(pickle.dumps(tokeniser)).counts("houses") == {"house": 1}


def test_chinese_is_cut_into_words() -> None:
    pytest.importorskip("jieba", reason="the extra 'chinese' is not installed")
    tokeniser = LanguageTokeniser(frozenset(["我们"]), 3, ("zh", "en"))
    assert tokeniser.counts("我们喜欢天气预报 weather，天气") == {"喜欢": 1, "天气预报": 1, "weather": 1, "天气": 1}
    assert [word for word, _ in tokeniser.split_in_order("天气很好")] == tokeniser.split("天气很好")


def test_japanese_is_cut_into_words() -> None:
    pytest.importorskip("fugashi", reason="the extra 'japanese' is not installed")
    tokeniser = LanguageTokeniser(frozenset(), 3, ("ja",))
    assert {"天気", "予報"} <= set(tokeniser.counts("天気の予報を見る"))

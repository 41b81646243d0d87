"""Languages: their stop words, how to cut scripts without spaces into words, and lemmas.

The lists are those of the package ``stopwordsiso``, but for English, whose list is our own; lemmas are looked up with
``simplemma``; Chinese is cut by ``jieba`` and Japanese by ``fugashi`` (MeCab with UniDic). All are optional.
"""

import re
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from spectral_spark.data.value_types import nearest
from spectral_spark.errors import SettingsError

LANGUAGES = {
    "af": "afrikaans", "ar": "arabic", "bg": "bulgarian", "bn": "bengali", "br": "breton", "ca": "catalan",
    "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english", "eo": "esperanto", "es": "spanish",
    "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "gl": "galician",
    "gu": "gujarati", "ha": "hausa", "he": "hebrew", "hi": "hindi", "hr": "croatian", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "ja": "japanese", "ko": "korean", "ku": "kurdish",
    "la": "latin", "lt": "lithuanian", "lv": "latvian", "mr": "marathi", "ms": "malay", "nl": "dutch",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sk": "slovak",
    "sl": "slovenian", "so": "somali", "st": "sotho", "sv": "swedish", "sw": "swahili", "th": "thai", "tl": "tagalog",
    "tr": "turkish", "uk": "ukrainian", "ur": "urdu", "vi": "vietnamese", "yo": "yoruba", "zh": "chinese", "zu": "zulu",
}
_CODES = {name: code for code, name in LANGUAGES.items()}
_LEMMA_CODES = {"no": "nb"}
HAN_OR_KANA = re.compile(r"[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
                         "\U00020000-\U0003ffff]+")
_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff]")
# articles and pronouns that lose their vowel before one: l'homme, dell'arte
ELIDED = frozenset((
    "c", "d", "j", "l", "m", "n", "qu", "s", "t", "jusqu", "lorsqu", "puisqu", "quoiqu",
    "un", "all", "dall", "dell", "nell", "sull", "coll", "quell", "quest",
))
ELIDING = frozenset(("fr", "it", "ca"))
SEGMENTED = ("zh", "ja")


def language_code(name: str) -> str | None:
    """The two letters of a language, given those or its English name; None if it is not known."""
    wanted = name.strip().lower()
    return wanted if wanted in LANGUAGES else _CODES.get(wanted)


def language_codes(names: Iterable[str]) -> tuple[str, ...]:
    """The codes of several languages; an error names the one that is not known, and the nearest that is."""
    codes = []
    for name in names:
        code = language_code(name)
        if code is None:
            near = nearest(name, [*LANGUAGES, *_CODES]) or f"; known are {', '.join(LANGUAGES)}"
            raise SettingsError(f"language '{name}' is not known{near}")
        codes.append(code)
    return tuple(codes)


@cache
def stop_words_of(code: str) -> frozenset[str]:
    """The stop words of a language, in lower case."""
    if code == "en":
        text = (files("spectral_spark.text") / "stop_words_english.txt").read_text("utf-8")
        return frozenset(line.split("#", 1)[0].strip().lower() for line in text.splitlines()) - {""}
    listed = _package("stopwordsiso", "languages", f"stop words of {LANGUAGES[code]}").stopwords(code)
    return frozenset(word.strip().lower() for word in listed) - {""}


def lemmatiser(codes: tuple[str, ...]) -> Callable[[str], str]:
    """A function from a word to its dictionary form in the first of the languages that knows it; else in English."""
    package = _package("simplemma", "languages", "lemmas")
    wanted = tuple(_LEMMA_CODES.get(code, code) for code in codes or ("en",) if code not in SEGMENTED)
    if not wanted:
        return lambda word: word
    try:
        package.lemmatize("word", lang=wanted)
    except ValueError:
        raise SettingsError(f"lemmas: there are none for {', '.join(LANGUAGES[code] for code in codes)}; leave out "
                            "--lemmas, or name other languages") from None

    def lemma(word: str) -> str:
        found: str = package.lemmatize(word, lang=wanted).lower()
        return found if found.isalpha() else word

    return lemma


def segmenter(codes: tuple[str, ...]) -> Callable[[str], list[str]] | None:
    """Cuts a run of Han characters or kana into words; None where no language needs that."""
    wanted = [code for code in codes if code in SEGMENTED]
    if not wanted:
        return None
    cut = {"zh": _chinese, "ja": _japanese}
    of_han, of_kana = cut[wanted[0]](), cut["ja" if "ja" in wanted else "zh"]()
    return lambda run: (of_kana if _KANA.search(run) else of_han)(run)


@cache
def _chinese() -> Callable[[str], list[str]]:
    jieba = _package("jieba", "chinese", "Chinese")
    jieba.setLogLevel("ERROR")
    tokenizer = jieba.Tokenizer()
    with tempfile.TemporaryDirectory(prefix="spectral-spark-") as private:
        tokenizer.tmp_dir = private         # it would trust any file of the right name in the shared directory
        tokenizer.initialize()
    return lambda run: list(tokenizer.lcut(run))


@cache
def _japanese() -> Callable[[str], list[str]]:
    fugashi = _package("fugashi", "japanese", "Japanese")
    try:
        tagger = fugashi.Tagger()
    except RuntimeError:
        raise SettingsError("Japanese needs a dictionary beside fugashi: pip install 'spectral-spark[japanese]'") \
            from None
    return lambda run: [word.surface for word in tagger(run)]


def _package(name: str, extra: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise SettingsError(f"{what}: this needs the package {name}, on the executors too: "
                            f"pip install 'spectral-spark[{extra}]'") from None

"""Seeds: words that people give to topics, checked and in one form, wherever they come from.

A file ``seeds.toml``, or the same as a dict in Python::

    [[topics]]
    name = "natural gas"
    words = ["gas", "pipeline", "storage"]     # or {gas = 2, pipeline = 1}, with a strength for each
    not = ["football"]
    strength = 1.0                             # how strongly the words are held; 1 is usual
    topic = 3                                  # the topic's number; by default its place in the file

    [background]                               # a topic of its own for the words that are common everywhere

Nothing here is trusted: texts have no control characters, and lists and texts have a largest size.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from spectral_spark.data.value_types import LARGEST_WHOLE, nearest
from spectral_spark.errors import InputError
from spectral_spark.files.directories import read_file, resolve
from spectral_spark.files.labels_file import LONGEST_LABEL
from spectral_spark.files.toml import parse_toml
from spectral_spark.plain_text import printable, shortened

BACKGROUND = "background"
MOST_TOPICS, MOST_WORDS, LONGEST_WORD, LARGEST_STRENGTH = 1000, 1000, 200, 100.0
_LARGEST_FILE = 4 << 20
_SECTIONS = ("topics", BACKGROUND, "strength")
_TOPIC_KEYS = ("name", "words", "not", "strength", "topic")
_BACKGROUND_KEYS = ("strength", "topic")

Seeds = dict[str, Any]


def load_seeds(path: str) -> Seeds:
    """The seeds of a file, checked."""
    filesystem, inside = resolve(path)
    info = filesystem.get_file_info(inside)
    if not info.is_file:
        raise InputError(f"there is no file of seeds at '{path}'")
    if (info.size or 0) > _LARGEST_FILE:
        raise InputError(f"'{path}' has {info.size:,} bytes; a file of seeds has at most {_LARGEST_FILE:,}")
    try:
        return checked_seeds(parse_toml(read_file(filesystem, inside)))
    except ValueError as error:
        raise InputError(f"'{path}' {error}") from None


def seeds_of(given: str | Mapping[str, Any] | None, background: bool = False) -> Seeds | None:
    """The seeds that a fit is told, a path or a mapping, with or without a background topic; None if there are none."""
    if given is None and not background:
        return None
    try:
        seeds = {"topics": [], BACKGROUND: None} if given is None else (
            load_seeds(given) if isinstance(given, str) else checked_seeds(given))
    except ValueError as error:
        raise InputError(f"`seeds` {error}") from None
    if background and seeds[BACKGROUND] is None:
        seeds[BACKGROUND] = {"strength": 1.0, "topic": None}
    return seeds


def checked_seeds(given: Mapping[str, Any]) -> Seeds:
    """Seeds in their canonical form; a ValueError that begins with "has …" says what is wrong.

    Parameters
    ----------
    given : the content of a file, or the short form of Python: names of topics with lists of words.

    Returns
    -------
    dict with ``topics``, a list of dicts with ``name``, ``words`` and ``not`` (words with strengths) and ``topic`` (a
    number or None), and ``background``, None or a dict with ``strength`` and ``topic``.
    """
    if not any(key in given for key in _SECTIONS):
        given = {"topics": dict(given)}
    _check_keys(given, _SECTIONS, "")
    usual = _strength(given.get("strength", 1.0), "")
    listed = given.get("topics", [])
    if isinstance(listed, Mapping):
        listed = [_named(name, what) for name, what in listed.items()]
    if not isinstance(listed, Sequence) or isinstance(listed, str) or len(listed) > MOST_TOPICS:
        raise ValueError(f"has 'topics' of another kind; give at most {MOST_TOPICS} tables [[topics]]")
    topics = [_topic(place, topic, usual) for place, topic in enumerate(listed, 1)]
    background = given.get(BACKGROUND)
    if background is not None and background is not False:
        background = _background({} if background is True else background, usual)
    seeds: Seeds = {"topics": topics, BACKGROUND: background or None}
    _check_distinct(seeds)
    return seeds


def number_of_topics(seeds: Seeds | None) -> int:
    """How many topics the seeds take, the background included."""
    return len(seeds["topics"]) + (seeds[BACKGROUND] is not None) if seeds else 0


def check_room(seeds: Seeds, k: int) -> None:
    """Refuse seeds that k topics have no room for."""
    seeded = number_of_topics(seeds)
    if seeded > k:
        raise InputError(f"`seeds` has {seeded} topics, and there are {k}; raise `k` to at least {seeded}")
    for topic in (*seeds["topics"], seeds[BACKGROUND] or {}):
        if (topic.get("topic") or 0) >= k:
            raise InputError(f"`seeds`: '{topic.get('name', BACKGROUND)}' asks for the number {topic['topic']}, and "
                             f"{k} topics have the numbers 0 to {k - 1}")


def _named(name: Any, what: Any) -> dict[str, Any]:
    """One topic of the form ``[topics."name"]`` or ``name = [words]``."""
    return {"name": name, **what} if isinstance(what, Mapping) else {"name": name, "words": what}


def _topic(place: int, topic: Any, usual: float) -> dict[str, Any]:
    where = f" in topic {place}"
    if not isinstance(topic, Mapping):
        raise ValueError(f"has {_shown(topic)} as topic {place}; give a table [[topics]] with a name and words")
    name = _text(topic.get("name"), "the name", where, LONGEST_LABEL)
    where = f" in topic '{name}'"
    _check_keys(topic, _TOPIC_KEYS, where)
    strength = _strength(topic.get("strength", usual), where)
    words, kept_out = (_words(topic.get(key, []), key, strength, where) for key in ("words", "not"))
    if not words:
        raise ValueError(f"has no words{where}; give a few, as words = [\"gas\", \"pipeline\"]")
    if both := sorted(words.keys() & kept_out.keys()):
        raise ValueError(f"has '{both[0]}' among both the words and the words that must not be{where}")
    return {"name": name, "words": words, "not": kept_out, "topic": _number(topic.get("topic"), where)}


def _background(section: Any, usual: float) -> dict[str, Any]:
    if not isinstance(section, Mapping):
        raise ValueError(f"has {_shown(section)} as {BACKGROUND}; give a table [{BACKGROUND}]")
    where = f" in [{BACKGROUND}]"
    _check_keys(section, _BACKGROUND_KEYS, where)
    return {"strength": _strength(section.get("strength", usual), where), "topic": _number(section.get("topic"), where)}


def _words(given: Any, key: str, strength: float, where: str) -> dict[str, float]:
    """Words with their strengths."""
    if isinstance(given, str):
        given = given.split()
    if not isinstance(given, Mapping | Sequence):
        raise ValueError(f"has {_shown(given)} as '{key}'{where}; give a list of words")
    if len(given) > MOST_WORDS:
        raise ValueError(f"has {len(given):,} words as '{key}'{where}; give at most {MOST_WORDS:,}")
    pairs = given.items() if isinstance(given, Mapping) else ((word, strength) for word in given)
    found = {}
    for word, value in pairs:
        name = _text(word, "a word", where, LONGEST_WORD)
        found[name] = _strength(value, f" of '{name}'{where}")
    return found


def _text(given: Any, what: str, where: str, longest: int) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ValueError(f"has {_shown(given)} as {what}{where}; give a text in quotation marks")
    text = " ".join(given.split())
    if len(text) > longest:
        raise ValueError(f"has {what} of {len(text):,} characters{where}; give at most {longest}")
    if printable(text) != text:
        raise ValueError(f"has control characters in {what} {_shown(text)}{where}")
    return text


def _strength(given: Any, where: str) -> float:
    number = isinstance(given, Real) and not isinstance(given, bool)
    if not number or not 0 < given <= LARGEST_STRENGTH:
        raise ValueError(f"has the strength {_shown(given)}{where}; give a number above 0, at most "
                         f"{LARGEST_STRENGTH:g}: 1 is usual")
    return float(given)


def _number(given: Any, where: str) -> int | None:
    if given is None:
        return None
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if not whole or not 0 <= given <= LARGEST_WHOLE:
        raise ValueError(f"has {_shown(given)} as 'topic'{where}; give the number of a topic, from 0")
    return int(given)


def _check_keys(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in given:
        if key not in known:
            hint = nearest(str(key), known) or f"; there are {', '.join(known)}"
            raise ValueError(f"has {_shown(key)}{where}, which is not known{hint}")


def _check_distinct(seeds: Seeds) -> None:
    names = [topic["name"].casefold() for topic in seeds["topics"]]
    numbers = [topic["topic"] for topic in (*seeds["topics"], seeds[BACKGROUND] or {"topic": None})]
    asked = [number for number in numbers if number is not None]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"has two topics called '{twice[0]}'")
    if again := sorted({number for number in asked if asked.count(number) > 1}):
        raise ValueError(f"has two topics with the number {again[0]}")


def _shown(given: Any) -> str:
    return shortened(_written(given), most=80)


def _written(given: Any) -> str:
    try:
        return repr(given)
    except ValueError:                                   # of a number with thousands of digits
        return f"a number of {given.bit_length():,} bits" if isinstance(given, int) else f"a {type(given).__name__}"

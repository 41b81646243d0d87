"""Counts and durations as people write them, and data that cannot drive a terminal."""

import pytest

from spectral_spark.plain_text import duration, number, printable


def test_numbers_and_times_are_for_people() -> None:
    assert number(1234567) == "1,234,567"
    times = [duration(s) for s in (0.04, 0.84, 9.97, 12.3, 59.6, 200, 7500)]
    assert times == ["40 ms", "0.8 s", "10 s", "12 s", "1 min", "3 min 20 s", "2 h 5 min"]


@pytest.mark.parametrize(("text", "shown"), [
    ("plain text, naïve 日本語 🙂", "plain text, naïve 日本語 🙂"),
    ("clear\x1b[2J", r"clear\x1b[2J"),
    ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
    ("two\nlines\r", r"two\nlines\r"),
    ("c1\x9b31m", r"c1\x9b31m"),
    ("gnp.\u202eexe", r"gnp.\u202eexe"),
    ("lone \udc80", r"lone \udc80"),
    ("end\u2028line", r"end\u2028line"),
])
def test_control_characters_become_visible_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown
    printable(text).encode()

"""Text for people: counts, durations, and data that is safe to show on a terminal."""

import unicodedata

# Reorder the text around them, so that a name could pretend to be another one.
_BIDIRECTIONAL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HIDDEN = frozenset(("Cc", "Cs", "Zl", "Zp"))


def printable(text: str) -> str:
    r"""The text with its control characters written as escapes, so that no word or file name can drive a terminal.

    Control characters (``\x1b``, line ends, tabs), characters that reverse the direction of writing, and halves of
    surrogate pairs, which no encoding can write, are replaced; everything else stays as it is.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(letter) if _drives(letter) else letter for letter in text)


def _drives(letter: str) -> bool:
    return unicodedata.category(letter) in _HIDDEN or letter in _BIDIRECTIONAL


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def shortened(text: str, most: int = 200) -> str:
    """The text as part of a message: plain, on one line, and no longer than ``most`` characters.

    Examples
    --------
    >>> shortened("a" * 10, most=5)
    'aaaa…'
    """
    plain = printable(text[: most + 1])
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def no_formula(text: str) -> str:
    """The text as a cell of CSV that no spreadsheet takes for a formula: an apostrophe goes before ``=``, ``+``, ``-``
    and ``@``, unless the text is a number.

    Examples
    --------
    >>> no_formula("=HYPERLINK(A1)"), no_formula("-1.5"), no_formula("gas")
    ("'=HYPERLINK(A1)", '-1.5', 'gas')
    """
    if not text.lstrip().startswith(("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def number(value: float) -> str:
    """A count as people write it: 1,234,567."""
    return f"{value:,.0f}"


def duration(seconds: float) -> str:
    """A time as people say it: 80 ms, 2.5 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"

"""Words of many texts at once. ASCII texts are split as arrays of bytes; others go through the tokeniser one by one.

The words are those of ``Tokeniser.split``, text for text: a test draws texts and compares. Nothing is done per word in
Python: only the distinct words of a batch are looked at one by one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from spectral_spark.text.tokeniser import Tokeniser

LARGEST_PIECE = 4 << 20        # bytes of text that are split at a time
_APOSTROPHE = ord("'")


def _table(characters: str, values: str | None = None) -> bytes:
    """A table of 256 bytes that has ``values`` (by default ones) at the characters and zeros elsewhere."""
    table = bytearray(256)
    for place, character in enumerate(characters.encode()):
        table[character] = values.encode()[place] if values else 1
    return bytes(table)


def _looked_up(table: bytes, data: np.ndarray, kind: type = np.uint8) -> np.ndarray:
    """``table[byte]`` for every byte; ``bytes.translate`` is several times as fast as an index array."""
    return np.frombuffer(bytearray(data.tobytes().translate(table)), kind)


_LETTERS, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"
_WORD_BYTES = _table(_LETTERS + _LETTERS.upper() + _DIGITS + "'`", _LETTERS + _LETTERS + _DIGITS + "''")
_IN_WORDS = _table(_LETTERS + _DIGITS)
_SPACES = _table("\t\n\v\f\r\x1c\x1d\x1e\x1f ")                       # where str.split() cuts ASCII
_BINDING = _table("\t\n\v\f\r\x1c\x1d\x1e\x1f -")                      # what may stand between the words of a phrase
_PLAIN = bytes(range(256)).lower().translate(bytes(32 if _SPACES[byte] else byte for byte in range(256)))


@dataclass(frozen=True, eq=False)
class Tokens:
    """Words as they are in a batch of texts, before any is dropped or normalised.

    Attributes
    ----------
    starts : of shape (texts + 1,); the words of text i are ``words[starts[i]:starts[i + 1]]``, in their order.
    words : positions in ``distinct``.
    distinct : the distinct words, in lower case.
    follows : whether nothing but white space or a hyphen is between a word and the one before it in the same text;
        None unless that was asked for.
    damaged : of shape (texts,); texts that are not UTF-8. They have no words.
    """

    starts: np.ndarray
    words: np.ndarray
    distinct: list[str]
    follows: np.ndarray | None
    damaged: np.ndarray


@dataclass(frozen=True, eq=False)
class TextBytes:
    """A column of texts as bytes, of which text i has those from ``starts[i]`` to ``starts[i + 1]``; null is empty."""

    data: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, texts: pa.Array) -> "TextBytes":
        texts = texts.cast(pa.large_binary())
        texts = texts.fill_null(b"") if texts.null_count else texts
        offsets = np.frombuffer(texts.buffers()[1], np.int64, len(texts) + 1, 8 * texts.offset) \
            if len(texts) else np.zeros(1, np.int64)
        buffer = texts.buffers()[2] if len(texts) else None
        data = np.frombuffer(buffer, np.uint8) if buffer is not None and buffer.size else np.zeros(0, np.uint8)
        return cls(data[offsets[0]: offsets[-1]], offsets - offsets[0])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def text(self, row: int) -> bytes:
        return self.data[self.starts[row]: self.starts[row + 1]].tobytes()

    @property
    def beyond_ascii(self) -> np.ndarray:
        """The texts with a byte that is not ASCII."""
        high = np.flatnonzero(self.data & 0x80)
        return np.unique(np.searchsorted(self.starts, high, "right") - 1) if len(high) else high


def pieces(sizes: np.ndarray, largest: int = LARGEST_PIECE) -> Iterator[slice]:
    """Rows in runs of at most ``largest`` bytes together, and at least one row."""
    ends, first = np.cumsum(sizes), 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + largest, "right")), first + 1)
        yield slice(first, last)
        first = last


def split_texts(texts: TextBytes, tokeniser: Tokeniser, *, follows: bool = False) -> Tokens:
    """The words of texts, in their order; with ``follows``, also which of them can be the second word of a phrase."""
    others = texts.beyond_ascii if tokeniser.splits_bytes else np.flatnonzero(np.diff(texts.starts))
    lowered = _looked_up(_WORD_BYTES, texts.data)
    for row in others:
        lowered[texts.starts[row]: texts.starts[row + 1]] = 0
    if len(others) < len(texts):
        _blank_addresses(texts, lowered)
    counts, raw, after = _split_bytes(texts, lowered, follows)
    damaged, order = np.zeros(len(texts), bool), None
    if len(others):
        counts, raw, after, damaged, order = _merged(texts, tokeniser, others, counts, raw, after)
    encoded = raw.dictionary_encode()
    starts, words = np.concatenate(([0], np.cumsum(counts))), encoded.indices.to_numpy()
    return Tokens(starts, words if order is None else words[order], encoded.dictionary.to_pylist(), after, damaged)


def _merged(
    texts: TextBytes, tokeniser: Tokeniser, others: np.ndarray, counts: np.ndarray, raw: pa.Array,
    follows: np.ndarray | None,
) -> tuple[np.ndarray, pa.Array, np.ndarray | None, np.ndarray, np.ndarray]:
    """The words of the ASCII texts and then those of the others, which texts are damaged, and the order in which the
    words belong; counts and ``follows`` are in that order.
    """
    found: list[str] = []
    joined: list[bool] = []
    rows, counts, damaged = np.repeat(np.arange(len(texts)), counts), counts.copy(), np.zeros(len(texts), bool)
    for row in others:
        try:
            text = texts.text(row).decode()
        except UnicodeDecodeError:
            damaged[row] = True
            continue
        words = tokeniser.split(text) if follows is None else []
        for word, continues in tokeniser.split_in_order(text) if follows is not None else ():
            words.append(word)
            joined.append(continues)
        counts[row] = len(words)
        found += words
    order = np.argsort(np.concatenate([rows, np.repeat(others, counts[others])]), kind="stable")
    raw = pa.concat_arrays([raw, pa.array(found, pa.large_string())])
    after = None if follows is None else np.concatenate([follows, np.array(joined, bool)])[order]
    return counts, raw, after, damaged, order


def _split_bytes(
    texts: TextBytes, lowered: np.ndarray, follows: bool
) -> tuple[np.ndarray, pa.Array, np.ndarray | None]:
    """Words per text, all words, and which follow the one before: ``[a-z0-9]+(?:'[a-z0-9]+)*`` in each text."""
    inside, begins, ends = _word_edges(texts, lowered)
    starts, stops = np.flatnonzero(begins), np.flatnonzero(ends) + 1
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(stops - starts, out=offsets[1:])
    raw = pa.Array.from_buffers(
        pa.large_string(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(lowered[inside])]
    )
    places = np.searchsorted(starts, texts.starts)
    return np.diff(places), raw, _follows(texts.data, inside, starts, places) if follows else None


def _word_edges(texts: TextBytes, lowered: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which bytes are in words, which of them begin a word, and which end one."""
    filled = np.flatnonzero(np.diff(texts.starts))
    firsts, lasts = texts.starts[filled], texts.starts[filled + 1] - 1
    inside = _looked_up(_IN_WORDS, lowered, np.bool_)
    marks = np.flatnonzero(lowered == _APOSTROPHE)
    if len(marks):
        marks = marks[~(np.isin(marks, firsts) | np.isin(marks, lasts))]
        inside[marks[inside[marks - 1] & inside[marks + 1]]] = True
    begins, ends = inside.copy(), inside.copy()
    begins[1:] &= ~inside[:-1]
    begins[firsts] = inside[firsts]
    ends[:-1] &= ~inside[1:]
    ends[lasts] = inside[lasts]
    return inside, begins, ends


def _follows(data: np.ndarray, inside: np.ndarray, starts: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Whether only white space and hyphens are before a word, back to the word before it in the same text."""
    follows = np.zeros(len(starts), bool)
    if len(starts):
        cuts = np.searchsorted(np.flatnonzero(~(inside | _looked_up(_BINDING, data, np.bool_))), starts)
        follows[1:] = cuts[1:] == cuts[:-1]
        follows[places[:-1][places[:-1] < len(starts)]] = False
    return follows


def _blank_addresses(texts: TextBytes, lowered: np.ndarray) -> None:
    """Leave out what stands between two white spaces and contains ``@``, ``://`` or ``www.``, as the tokeniser does."""
    data = texts.data
    hits = np.concatenate([np.flatnonzero(data == ord("@")), _occurrences(texts, b"://", 0),
                           _occurrences(texts, b"www.", 3)])
    if not len(hits):
        return
    hits.sort()
    rows = np.searchsorted(texts.starts, hits, "right") - 1
    spaces = np.flatnonzero(_looked_up(_SPACES, data, np.bool_))
    after = np.searchsorted(spaces, hits)
    padded = np.concatenate([[-1], spaces, [len(data)]])
    first = np.maximum(padded[after] + 1, texts.starts[rows])
    last = np.minimum(padded[after + 1], texts.starts[rows + 1])
    first, distinct = np.unique(first, return_index=True)
    for start, stop in zip(first.tolist(), last[distinct].tolist(), strict=True):
        lowered[start:stop] = 0


def _occurrences(texts: TextBytes, pattern: bytes, rare: int) -> np.ndarray:
    """Where a pattern stands within one text; ``rare`` is the place in it of its rarest byte, which is looked for."""
    data = texts.data
    at = np.flatnonzero(data == pattern[rare]) - rare
    at = at[(at >= 0) & (at <= len(data) - len(pattern))]
    for place, byte in enumerate(pattern):
        at = at[data[at + place] == byte]
    rows = np.searchsorted(texts.starts, at, "right")
    return at[rows == np.searchsorted(texts.starts, at + len(pattern) - 1, "right")]


def plain_contents(texts: TextBytes) -> list[bytes]:
    """Every text in lower case with single spaces between its words and none at its ends, in UTF-8.

    Texts that are not UTF-8 are taken as they are.
    """
    spaces = _looked_up(_SPACES, texts.data, np.bool_)
    dropped = spaces.copy()
    dropped[1:] &= spaces[:-1]                        # the first white space after a word stays
    firsts = texts.starts[np.flatnonzero(np.diff(texts.starts))]
    dropped[firsts] = spaces[firsts]
    bounds = texts.starts - np.searchsorted(np.flatnonzero(dropped), texts.starts)
    plain = _looked_up(_PLAIN, texts.data)[~dropped]
    ends = bounds[1:].copy()
    filled = np.flatnonzero(np.diff(bounds))
    ends[filled] -= plain[ends[filled] - 1] == ord(" ")
    whole = plain.tobytes()
    contents = [whole[start:end] for start, end in zip(bounds[:-1].tolist(), ends.tolist(), strict=True)]
    for row in texts.beyond_ascii.tolist():
        contents[row] = _plain(texts.text(row))
    return contents


def _plain(text: bytes) -> bytes:
    try:
        return " ".join(text.decode().lower().split()).encode()
    except UnicodeDecodeError:
        return text

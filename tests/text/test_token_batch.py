"""Texts split as arrays of bytes have the words that the tokeniser gives them one by one."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_spark.text.token_batch import TextBytes, Tokens, pieces, plain_contents, split_texts
from spectral_spark.text.tokeniser import Tokeniser

PLAIN = Tokeniser(frozenset(), 1)
PIECES = ("gas", "Power", "we'll", "'", "`", "a'b'c", " ", "  ", "\n", "\x1c", "\x00", "_", "-", ". ", "3rd", "@", "://",
          "www.", "ww", "w.", "naïve", "’", "ﬁ", "\u0301", "\u2028", "＿", "天气", "ß", "İ", "٣")
TEXTS = st.lists(st.one_of(
    st.none(), st.text(max_size=40), st.text(st.characters(max_codepoint=127), max_size=40),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join)), max_size=8)


def words_of(tokens: Tokens, row: int) -> list[str]:
    return [tokens.distinct[word] for word in tokens.words[tokens.starts[row]: tokens.starts[row + 1]]]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(TEXTS, st.integers(0, 2))
def test_words_are_those_of_the_tokeniser(texts: list[str | None], skipped: int) -> None:
    column = pa.array([*["left out"] * skipped, *texts], pa.string()).slice(skipped)
    for follows in (False, True):
        tokens = split_texts(TextBytes.of(column), PLAIN, follows=follows)
        for row, text in enumerate(texts):
            assert words_of(tokens, row) == PLAIN.split(text or "")
            if tokens.follows is not None:
                mine = tokens.follows[tokens.starts[row]: tokens.starts[row + 1]]
                assert list(zip(words_of(tokens, row), mine, strict=True)) == list(PLAIN.split_in_order(text or ""))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(TEXTS)
def test_plain_contents_ignore_case_and_white_space(texts: list[str | None]) -> None:
    found = list(plain_contents(TextBytes.of(pa.array(texts, pa.string()))))
    assert found == [" ".join((text or "").lower().split()).encode() for text in texts]


def test_texts_that_are_not_utf8_are_marked_and_have_no_words() -> None:
    tokens = split_texts(TextBytes.of(pa.array([b"fine words", b"bad \xff\xfe bytes", b"na\xc3\xafve"])), PLAIN)
    assert tokens.damaged.tolist() == [False, True, False]
    assert [words_of(tokens, row) for row in range(3)] == [["fine", "words"], [], ["naïve"]]


def test_a_phrase_does_not_cross_a_sentence_or_a_text() -> None:
    texts = TextBytes.of(pa.array(["natural gas. Prices of natural-gas", "rise"]))
    tokens = split_texts(texts, PLAIN, follows=True)
    assert tokens.follows is not None
    assert tokens.follows.tolist() == [False, True, False, True, True, True, False]


@pytest.mark.parametrize("sizes", [[], [5], [3, 3, 3], [0, 0, 9, 0], [1, 20, 1]])
def test_pieces_hold_every_row_once_and_are_small(sizes: list[int]) -> None:
    runs = list(pieces(np.array(sizes, np.int64), largest=6))
    assert [row for run in runs for row in range(run.start, run.stop)] == list(range(len(sizes)))
    assert all(sum(sizes[run]) <= 6 or run.stop - run.start == 1 for run in runs)


def test_long_texts_take_no_quadratic_time() -> None:
    texts = TextBytes.of(pa.array(["a@" * 1_000_000, "'" * 2_000_000, "b " * 1_000_000]))
    assert np.diff(split_texts(texts, PLAIN, follows=True).starts).tolist() == [0, 0, 1_000_000]

"""Phrases: what joins, what is found, and what a model remembers of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_spark.text.phrases import PhraseMatcher, pair_scores, significant_pairs
from spectral_spark.text.text_recipe import TextCounter, TextRecipe


def joined_one_by_one(words: list[int], continues: list[bool], phrases: dict[tuple[int, int], int]) -> list[int]:
    found, at = [], 0
    while at < len(words):
        pair = (words[at], words[at + 1]) if at + 1 < len(words) and continues[at + 1] else None
        found.append(phrases.get(pair, words[at]) if pair else words[at])
        at += 2 if pair in phrases else 1
    return found


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), max_size=30),
       st.sets(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=12))
def test_phrases_are_joined_from_left_to_right(text: list[tuple[int, bool]], pairs: set[tuple[int, int]]) -> None:
    phrases = {pair: 100 + number for number, pair in enumerate(sorted(pairs))}
    matcher = PhraseMatcher(np.array([a for a, _ in phrases]), np.array([b for _, b in phrases]),
                            np.array(list(phrases.values())))
    words, continues = [word for word, _ in text], [follows for _, follows in text]
    found, left = matcher.apply(np.array(words, np.int64), np.array(continues, bool))
    assert found.tolist() == joined_one_by_one(words, continues, phrases)
    assert left.sum() == len(found)


def test_likelihood_ratio_of_a_table_by_hand() -> None:
    # 2×2 table (10, 20, 30, 940): Dunning's G² = 2 Σ seen · log(seen / expected)
    seen, expected = np.array([10, 20, 30, 940.0]), np.array([1.2, 28.8, 38.8, 931.2])
    scores = pair_scores(np.array([10]), np.array([30]), np.array([40]), 1000)
    assert scores.likelihood_ratio[0] == pytest.approx(2 * (seen * np.log(seen / expected)).sum())
    assert scores.npmi[0] == pytest.approx(np.log(0.01 / (0.03 * 0.04)) / -np.log(0.01))


def test_words_that_meet_by_chance_are_no_phrases() -> None:
    random = np.random.default_rng(0)
    first, second = random.integers(0, 60, 200_000), random.integers(0, 60, 200_000)
    second[:400] = first[:400] = 60                                # one pair that never parts
    pairs, together = np.unique(first * 61 + second, return_counts=True)
    margins = np.bincount(first, minlength=61), np.bincount(second, minlength=61)
    scores = pair_scores(together, margins[0][pairs // 61], margins[1][pairs % 61], 200_000)
    assert pairs[significant_pairs(scores, len(pairs), None)].tolist() == [60 * 61 + 60]


def test_a_recipe_counts_phrases_in_new_text() -> None:
    recipe = TextRecipe(("the",), 3, phrases=(("natural", "gas"), ("credit", "card")))
    counter = TextCounter(recipe, ["natural_gas", "gas", "card"])
    assert counter.words("the natural gas, natural the gas; Natural-Gas card") == {
        "natural_gas": 2, "natural": 1, "gas": 1, "card": 1}
    terms, starts, counts = counter.arrays(["natural gas gas", None, "credit card card"])
    assert terms.tolist() == [0, 1, 2]
    assert starts.tolist() == [0, 2, 2, 3]
    assert counts.tolist() == [1, 1, 1]

"""The number of topics: three rules, each with its spectrum and its reason."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from solve_examples import dense_counts, dense_moments, scaled_basis

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ingest.simulate import random_topics, simulate_hdp
from spectral_spark.moments.coefficients import hdp_coefficients
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve import solve_topics
from spectral_spark.solve.corrected_moments import second_corrected
from spectral_spark.solve.document_noise import DocumentNoise
from spectral_spark.solve.rank import RankChoice, RankEvidence, _from_count, choose_rank

C = hdp_coefficients([1.0])


@cache
def evidence(k: int, documents: int, seed: int, split: float = 0.5) -> RankEvidence:
    corpus = simulate_hdp(random_topics(300, k, seed), documents, [1.0], lengths=60, seed=seed)
    counts = dense_counts(corpus)
    projection, lift, scale, mean = scaled_basis(counts, 2 * k + 6)
    one = np.random.default_rng(seed).random(documents) < split
    halves = tuple(dense_moments(counts[part], projection, np.ones(part.sum())) for part in (one, ~one))
    moments = dense_moments(counts, projection, np.ones(documents))
    noise = DocumentNoise(np.array([1.0 / documents / 59]), np.array([float(documents)]))
    return RankEvidence(moments, halves, second_corrected(moments, C), C, lift, mean, scale, noise)


@pytest.mark.parametrize("k", [5, 12, 20])
def test_noise_floor_and_gap_find_the_number_of_topics(k: int) -> None:
    seen = evidence(k, 6000, k, 0.5)
    for rule in ("noise-floor", "gap"):
        choice = choose_rank(rule, seen)
        assert choice.k == k
        assert choice.rule == rule
        assert len(choice.spectrum) == 2 * k + 6
        assert str(k) in choice.reason
    floor = choose_rank("noise-floor", seen).noise_floor
    assert floor is not None
    assert (choose_rank("noise-floor", seen).spectrum > floor).sum() == k


def test_unequal_halves_measure_the_same_noise() -> None:
    even, uneven = (choose_rank("noise-floor", evidence(12, 6000, 12, split)) for split in (0.5, 0.15))
    assert even.k == uneven.k == 12
    assert even.noise_floor == pytest.approx(uneven.noise_floor, rel=0.2)


def test_few_documents_show_fewer_topics_not_noise() -> None:
    """Of 20 topics a handful is sure in 60 documents, most in 150, nearly all in 500; the floor falls with them."""
    choices = [choose_rank("noise-floor", evidence(20, documents, 20)) for documents in (60, 150, 500)]
    few, some, many = (choice.k for choice in choices)
    assert 3 <= few <= 10 < some < 20
    assert 18 <= many <= 20
    floors = [choice.noise_floor or 0.0 for choice in choices]
    assert floors[0] > 1.5 * floors[1] > 1.5**2 * floors[2]


def test_heavy_documents_raise_the_floor() -> None:
    seen = evidence(5, 2000, 1)
    heavy = DocumentNoise(np.array([1e-5, 0.01]), np.array([1900.0, 100.0]))
    raised = RankEvidence(*[getattr(seen, name) for name in list(seen.__dataclass_fields__)[:-1]], heavy)
    low, high = choose_rank("noise-floor", seen).noise_floor, choose_rank("noise-floor", raised).noise_floor
    assert low is not None
    assert high is not None
    assert high > 2 * low


def test_the_papers_rule_is_offered_under_its_name() -> None:
    choice = choose_rank("paper", evidence(12, 6000, 12, 0.5))
    assert choice.rule == "paper"
    seen = evidence(12, 6000, 12, 0.5)
    words = np.linalg.eigvalsh(seen.lift @ seen.moments.second @ seen.lift.T)[::-1]      # all 300 × 300 pairs of words
    drops = -np.diff(words)[:12]
    assert choice.k == 2 + int(np.argmax(drops[1:])) < 12
    np.testing.assert_allclose(choice.spectrum[:12], words[:12], rtol=1e-9)


def test_a_basis_that_outnumbers_the_words_changes_nothing() -> None:
    """Directions without words hold rounding only, which says nothing about the noise."""
    seen, size = evidence(5, 3000, 2), 60
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((size, size)))[0][:, : len(seen.second)]
    halves = tuple(replace(half, first=turn @ half.first, second=turn @ half.second @ turn.T)
                   for half in seen.halves or ())
    moments = replace(seen.moments, first=turn @ seen.moments.first, second=turn @ seen.moments.second @ turn.T)
    large = replace(
        seen, moments=moments, halves=(halves[0], halves[1]), second=second_corrected(moments, C),
        lift=seen.lift @ turn.T,
    )
    small_choice, large_choice = choose_rank("noise-floor", seen), choose_rank("noise-floor", large)
    assert small_choice.k == large_choice.k == 5
    assert large_choice.noise_floor == pytest.approx(small_choice.noise_floor, rel=1e-6)


def test_nothing_above_the_noise_is_one_topic() -> None:
    seen = evidence(5, 2000, 1)
    loud = tuple(
        ProjectedMoments(half.first, half.second + sign * 100 * symmetric_noise(len(half.second)), half.third)
        for sign, half in zip((1, -1), seen.halves or (), strict=True)
    )
    choice = choose_rank("noise-floor", RankEvidence(
        seen.moments, (loud[0], loud[1]), seen.second, C, seen.lift, seen.mean_words, seen.scale
    ))
    assert choice.k == 1
    assert "no eigenvalue exceeds the noise floor" in choice.reason


def symmetric_noise(size: int) -> np.ndarray:
    noise = np.random.default_rng(0).standard_normal((size, size))
    return noise + noise.T


def test_auto_uses_the_rule_and_given_k_still_reports_the_spectrum() -> None:
    seen = evidence(5, 3000, 2)
    auto = solve_topics(seen.moments, seen.halves, seen.lift, seen.mean_words, scale=seen.scale)
    assert auto.k == auto.rank.k == 5
    limited = solve_topics(seen.moments, seen.halves, seen.lift, seen.mean_words, max_k=3)
    assert limited.k == 3
    assert limited.rank.reason.endswith("limited to 3")
    given = solve_topics(seen.moments, None, seen.lift, seen.mean_words, 4)
    assert isinstance(given.rank, RankChoice)
    assert given.rank.rule == "given"
    np.testing.assert_array_equal(given.rank.spectrum, auto.rank.spectrum)


def test_bad_requests_say_what_to_do() -> None:
    seen = evidence(5, 300, 2)
    with pytest.raises(SettingsError, match="'elbow' is unknown; choose one of noise-floor, gap, paper"):
        choose_rank("elbow", seen)
    with pytest.raises(InputError, match="pass halves or use the rule 'gap'"):
        solve_topics(seen.moments, None, seen.lift, seen.mean_words)


def test_a_given_k_shows_the_noise_floor_and_changes_no_topic() -> None:
    seen = evidence(5, 3000, 2)
    bare = solve_topics(seen.moments, None, seen.lift, seen.mean_words, 8, scale=seen.scale)
    shown = solve_topics(seen.moments, seen.halves, seen.lift, seen.mean_words, 8, scale=seen.scale)
    assert shown.topics.tobytes() == bare.topics.tobytes()
    assert (bare.rank.noise_floor, bare.rank.above_noise) == (None, None)
    assert (shown.rank.k, shown.rank.above_noise) == (8, 5)
    assert "k = 8 was given; 5 of the 16 eigenvalues exceed the noise floor" in shown.rank.reason


def test_the_reason_says_how_the_count_became_k() -> None:
    seen = evidence(5, 3000, 2)
    assert "drops most sharply right after number 5" in choose_rank("noise-floor", seen).reason
    near = _from_count(19, 21, 16, 22)
    assert "of 16 to 22 topics 21 were taken, because the spectrum drops most sharply after number 21" in near
    assert _from_count(3, 1, 2, 6) == ", of which 1 can be used"

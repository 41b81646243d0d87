"""Seeded hashing: published SplitMix64 bits, and fingerprints that recognise what earlier versions saved."""

import hashlib

import numpy as np

from spectral_spark.data.hashing import (
    GOLDEN_GAMMA,
    is_fingerprint_of,
    mixed_bits,
    next_bits,
    unit_interval,
    vocabulary_fingerprint,
)
from spectral_spark.files.fingerprint import fingerprint

WORDS = ("mail", "größe", "a")


def test_bits_are_those_of_the_published_generator() -> None:
    """The first numbers of SplitMix64 seeded with 1234567, from the reference implementation of Vigna."""
    states = np.uint64(1234567) + np.arange(1, 4, dtype=np.uint64) * GOLDEN_GAMMA
    assert mixed_bits(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert next_bits(np.array([1234567], np.uint64)).tolist() == [6457827717110365317]


def test_unit_interval_is_half_open() -> None:
    found = unit_interval(np.array([0, 2**63, 2**64 - 1], np.uint64))
    assert found.dtype == np.float64
    assert found.tolist() == [0.0, 0.5, 1.0 - 2.0**-53]


def test_a_vocabulary_is_recognised_by_the_fingerprints_of_both_kinds_of_files() -> None:
    """0.1.0 hashed the words of a corpus, and those of a basis, each in its own way."""
    of_corpus = hashlib.sha256(b"".join(len(w.encode()).to_bytes(4, "little") + w.encode() for w in WORDS)).hexdigest()
    assert vocabulary_fingerprint(WORDS) == of_corpus
    assert is_fingerprint_of(of_corpus, WORDS)
    assert is_fingerprint_of(fingerprint(*WORDS), WORDS)
    for other in (WORDS[::-1], WORDS[:2], ("mailgröße", "a")):
        assert not is_fingerprint_of(of_corpus, other)
        assert not is_fingerprint_of(fingerprint(*WORDS), other)
    assert vocabulary_fingerprint(None) == vocabulary_fingerprint(()) == ""

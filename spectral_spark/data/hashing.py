"""Seeded hashing: the SplitMix64 generator (Steele, Lea & Flood 2014) and fingerprints of vocabularies.

Everything random that belongs to a document comes from its key through these functions, never from a partition number
or a clock. ``mixed_bits`` and ``unit_interval`` use 64-bit arithmetic only, so that numba compiles the same source that
NumPy runs on arrays.
"""

import hashlib
from collections.abc import Iterable

import numpy as np

from spectral_spark.files.fingerprint import fingerprint

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)        # the step from one state of the generator to the next
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_SPARE_BITS, _UNIT = np.uint64(11), 2.0**-53        # a float64 holds 53 random bits


def mixed_bits(state: np.ndarray) -> np.ndarray:
    """The output of SplitMix64 for its state: a bijection of uint64 whose output bits look independent."""
    bits = (state ^ (state >> _SHIFTS[0])) * _FIRST
    bits = (bits ^ (bits >> _SHIFTS[1])) * _SECOND
    return bits ^ (bits >> _SHIFTS[2])


def unit_interval(bits: np.ndarray) -> np.ndarray:
    """Numbers from 0 up to, but not including, 1 from uint64 random bits."""
    return (bits >> _SPARE_BITS) * _UNIT


def next_bits(state: np.ndarray) -> np.ndarray:
    """Advance a uint64 array of states by one step and mix: the hash of each entry."""
    return mixed_bits(state + GOLDEN_GAMMA)


def vocabulary_fingerprint(words: Iterable[str] | None) -> str:
    """SHA-256 of the words in their order, or "" when there are none."""
    digest, empty = hashlib.sha256(), True
    for word in words or ():
        data, empty = word.encode(), False
        digest.update(len(data).to_bytes(4, "little") + data)
    return "" if empty else digest.hexdigest()


def is_fingerprint_of(known: str, words: tuple[str, ...]) -> bool:
    """Whether a saved vocabulary fingerprint is that of these words.

    Version 0.1.0 stored another hash of the words with bases and moments than with corpora; both are recognised.
    """
    return known in (vocabulary_fingerprint(words), fingerprint(*words) if words else "")

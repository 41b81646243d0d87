"""Spark's hash, Murmur3 with the seed 42, in NumPy: where hash partitioning sends a number or a text."""

import numpy as np
import pyarrow as pa

_SEED = np.uint32(42)


def murmur3(values: np.ndarray) -> np.ndarray:
    """Spark's ``hash`` of 32-bit integers, as unsigned integers."""
    with np.errstate(over="ignore"):
        return _finished(_mixed(np.full(values.shape, _SEED), values.astype(np.uint32)), np.uint32(4))


def text_partitions(texts: pa.Array, partitions: int) -> np.ndarray:
    """The partition of every text in ``repartition(partitions, column)``."""
    return np.mod(text_hashes(texts).view(np.int32), np.int32(partitions))


def text_hashes(texts: pa.Array) -> np.ndarray:
    """Spark's ``hash`` of texts, none of which is null, as unsigned integers."""
    texts = texts.cast(pa.large_binary())
    if not len(texts):
        return np.zeros(0, np.uint32)
    starts = np.frombuffer(texts.buffers()[1], np.int64, len(texts) + 1, 8 * texts.offset)
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    order = np.argsort(-np.diff(starts), kind="stable")          # texts that still have bytes come first
    begins, sizes, state = starts[:-1][order], np.diff(starts)[order], np.full(len(texts), _SEED)
    whole, rest = sizes // 4, sizes % 4
    with np.errstate(over="ignore"):
        for place in range(int(whole[0])):
            n = int(np.searchsorted(-whole, -place, "left"))
            at = begins[:n] + 4 * place
            word = data[at].astype(np.uint32)
            for byte in (1, 2, 3):
                word |= data[at + byte].astype(np.uint32) << np.uint32(8 * byte)
            state[:n] = _mixed(state[:n], word)
        for place in range(3):                        # Spark mixes each byte that is left over by itself, with its sign
            rows = np.flatnonzero(rest > place)
            byte_values = data[begins[rows] + 4 * whole[rows] + place]
            state[rows] = _mixed(state[rows], byte_values.view(np.int8).astype(np.int32).view(np.uint32))
        state = _finished(state, sizes.astype(np.uint32))
    hashes = np.empty_like(state)
    hashes[order] = state
    return hashes


def _mixed(state: np.ndarray, word: np.ndarray) -> np.ndarray:
    key = _rotated(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotated(state ^ key, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finished(state: np.ndarray, size: np.ndarray | np.uint32) -> np.ndarray:
    """The hash, from its state after all of the ``size`` bytes."""
    state = state ^ size
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    finished: np.ndarray = state ^ (state >> np.uint32(16))
    return finished


def _rotated(values: np.ndarray, bits: int) -> np.ndarray:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))

"""Topic-word counts between two sweeps: large arrays, worked through in blocks of rows that fit into a cache.

Every number is computed from its own row and column alone, or added up in the order of the rows, so the number of
threads changes no bit.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from spectral_spark.refine.fixed_point import LIKELIHOOD_STEPS
from spectral_spark.refine.seed_prior import SeedPrior

_BLOCK_CELLS = 1 << 17
_FEW_BYTES, _ARRAYS = 256 << 20, 5     # the sums of all threads: the larger of this, and of so many (words, k) float64


def count_type(most: int) -> type:
    """A type for sums of whole numbers of which none becomes larger than ``most``."""
    return np.uint32 if most < 1 << 32 else np.int64


def thread_number(threads: int, cells: int, kind: type) -> int:
    """How many threads may have sums of their own, of so many cells each.

    Together they take no more than the basis and the sums over words took before, which a fit has room for.
    """
    room = max(_FEW_BYTES, _ARRAYS * 8 * cells)
    return max(1, min(threads, room // (np.dtype(kind).itemsize * max(cells, 1))))


def in_threads(threads: int, function: Callable[[int], object]) -> None:
    """Call the function with every number below ``threads``, each in a thread."""
    if threads == 1:
        function(0)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(function, range(threads)))


def by_blocks(shape: tuple[int, ...], threads: int, function: Callable[[slice], object]) -> None:
    """Call the function with the rows of every block of an array of this shape."""
    rows = max(1, _BLOCK_CELLS // max(shape[1], 1))
    starts, used = range(0, shape[0], rows), _worth(threads, shape)

    def part(number: int) -> None:
        for start in starts[number::used]:
            function(slice(start, min(start + rows, shape[0])))

    in_threads(used, part)


def _worth(threads: int, shape: tuple[int, ...]) -> int:
    """Threads for an array of this shape: starting one takes as long as some blocks."""
    return max(1, min(threads, shape[0] * shape[1] // (4 * _BLOCK_CELLS)))


def likelihood_steps(
    counts: np.ndarray, smoothing: float, seeds: SeedPrior | None = None, *, unit: int = 1, threads: int = 1
) -> np.ndarray:
    """Topic-word counts (words, k) as likelihoods in whole numbers: LIKELIHOOD_STEPS where a word is most likely.

    ``seeds`` are words that people gave to the first topics. Counts are in units of 1 / ``unit``, a power of two.
    """
    if seeds is not None:
        counts, unit = seeds.applied(in_words(counts, unit)), 1
    steps = np.empty(counts.shape, np.uint16)
    totals = _column_sums(counts, smoothing, unit, threads)
    shares = (1.0 / totals).astype(np.float32)

    def fill(rows: slice) -> None:
        smooth = _smoothed(counts[rows], smoothing, unit)
        smooth *= shares
        smooth *= np.float32(LIKELIHOOD_STEPS) / smooth.max(axis=1, keepdims=True)
        steps[rows] = np.rint(smooth, out=smooth)

    by_blocks(counts.shape, threads, fill)
    return steps


def in_words(counts: np.ndarray, unit: int) -> np.ndarray:
    """Counts in units of 1 / ``unit`` as words."""
    return np.asarray(np.true_divide(counts, float(unit), dtype=np.float64))


def _column_sums(counts: np.ndarray, smoothing: float, unit: int, threads: int) -> np.ndarray:
    """Sums of the smoothed counts of every topic, row after row; every thread has some of the topics."""
    k, threads = counts.shape[1], _worth(threads, counts.shape)
    totals = np.zeros(k)
    borders = np.linspace(0, k, threads + 1).astype(int)
    rows = max(1, _BLOCK_CELLS * threads // max(k, 1))

    def part(number: int) -> None:
        columns = slice(borders[number], borders[number + 1])
        wide = np.empty((rows + 1, borders[number + 1] - borders[number]))
        for start in range(0, len(counts), rows):
            smooth = _smoothed(counts[start : start + rows, columns], smoothing, unit)
            wide[0], wide[1 : len(smooth) + 1] = totals[columns], smooth
            wide[: len(smooth) + 1].sum(axis=0, out=totals[columns])

    in_threads(threads, part)
    return totals


def _smoothed(counts: np.ndarray, smoothing: float, unit: int) -> np.ndarray:
    smooth = counts.astype(np.float32)
    smooth *= np.float32(1.0 / unit)
    smooth += np.float32(smoothing)
    return smooth

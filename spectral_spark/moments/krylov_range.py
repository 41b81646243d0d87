"""Finds the basis by block Krylov iteration: every pass adds its block to those before (formulas §3).

Subspace iteration keeps the last block alone, and its trailing directions hardly move from pass to pass where the
spectrum is flat, as that of text is. The span of all blocks holds every polynomial of the second moment applied to the
first one; its best directions come as close in five passes as those of the last block in ten.
"""

import numpy as np

from spectral_spark.moments.range_finder import orthonormal

MOST_BYTES = 512 << 20      # of all blocks and their images; beyond, they are condensed to their best directions
ROUNDING = 1e-10


class KrylovRange:
    """Blocks of directions, orthonormal all together, and their images under the scaled second moment A.

    Parameters
    ----------
    columns : the number p of directions that are wanted.
    judged : how many of them, the leading ones, must settle.
    seed : of the random directions that :meth:`widen` adds.
    most_bytes : what the blocks may take in memory.
    """

    def __init__(self, columns: int, judged: int, seed: int = 0, most_bytes: int = MOST_BYTES) -> None:
        self._columns, self._judged, self._seed, self._most_bytes = columns, judged, seed, most_bytes
        self._blocks: list[np.ndarray] = []
        self._images: list[np.ndarray] = []
        self._inner = np.zeros((0, 0))          # blocksᵀ · images, each product of which is computed once
        self._sizes: list[float] = []
        self._found: tuple[np.ndarray, np.ndarray] | None = None

    def add(self, block: np.ndarray, image: np.ndarray) -> None:
        """A block of shape (d, q), orthonormal and orthogonal to those before, and A times it."""
        self._put(block, image)
        values, vectors = self._ritz()
        self._sizes.append(float(np.abs(values[: self._judged]).sum()))
        if 2 * sum(part.nbytes for part in self._blocks) + 2 * block.nbytes > self._most_bytes:
            condensed = _combined(self._blocks, vectors), _combined(self._images, vectors)
            self._blocks, self._images, self._inner = [], [], np.zeros((0, 0))
            self._put(*condensed)

    def _put(self, block: np.ndarray, image: np.ndarray) -> None:
        """One more block, its image, and their inner products with those before."""
        known, size = len(self._inner), len(self._inner) + block.shape[1]
        inner = np.zeros((size, size))
        inner[:known, :known] = self._inner
        if known:
            inner[:known, known:] = np.vstack([before.T @ image for before in self._blocks])
        self._blocks.append(block)
        self._images.append(image)
        inner[known:] = np.hstack([block.T @ each for each in self._images])
        self._inner, self._found = inner, None

    @property
    def gain(self) -> float:
        """By how much the last block raised the sum of the leading eigenvalues, as a share of it; 1 at first."""
        if len(self._sizes) < 2 or not self._sizes[-1] > 0:
            return 1.0
        return 1.0 - self._sizes[-2] / self._sizes[-1]

    def widen(self, columns: int, judged: int) -> None:
        """Look for more directions from now on: the next block gets random ones as well."""
        self._columns, self._judged, self._sizes, self._found = columns, judged, [], None

    def next_block(self) -> np.ndarray:
        """Directions that no block has yet, orthonormal, of shape (d, q): those of the last image, and random ones if
        more are wanted. There are none, q = 0, when the blocks span everything that A reaches."""
        image = self._images[-1][:, : self._columns]
        room = len(image) - sum(block.shape[1] for block in self._blocks)
        rest = self._outside(image)
        wanted = min(self._columns, room)
        if rest.shape[1] < wanted and self._columns > self._blocks[0].shape[1] and not self._sizes:
            fresh = np.random.default_rng([self._seed, 2, self._columns])
            more = fresh.standard_normal((len(image), wanted - rest.shape[1]))
            rest = np.hstack([rest / np.linalg.norm(rest, axis=0), self._outside(more / np.sqrt(len(more)))])
        return orthonormal(rest[:, : max(room, 0)])

    def directions(self) -> np.ndarray:
        """The best p directions, after one more application of A; array of shape (d, p)."""
        return _combined(self._images, self._ritz()[1])

    def _outside(self, columns: np.ndarray) -> np.ndarray:
        """What no block spans of these columns; columns of which nothing is left are left out."""
        rest, largest = columns.copy(), np.linalg.norm(columns, axis=0).max(initial=0.0)
        for _ in range(2):                              # twice is enough
            for block in self._blocks:
                rest -= block @ (block.T @ rest)
        return rest[:, np.linalg.norm(rest, axis=0) > ROUNDING * largest]

    def _ritz(self) -> tuple[np.ndarray, np.ndarray]:
        """The p eigenvalues of A in the span that are largest in size, and their vectors, of shape (blocks, p).

        They are computed once for each block.
        """
        if self._found is None:
            values, vectors = np.linalg.eigh((self._inner + self._inner.T) / 2.0)
            largest = np.argsort(-np.abs(values), kind="stable")[: self._columns]
            self._found = values[largest], vectors[:, largest]
        return self._found


def _combined(parts: list[np.ndarray], vectors: np.ndarray) -> np.ndarray:
    """Σ part · its rows of the vectors: array of shape (d, p)."""
    total, at = np.zeros((len(parts[0]), vectors.shape[1])), 0
    for part in parts:
        total += part @ vectors[at : at + part.shape[1]]
        at += part.shape[1]
    return total

"""Which documents a model has counted, so that none is counted twice and none is removed that was never there.

A document is known by a 64-bit hash of its identity (its id, or its content where it has no id) and 32 bits of a hash
of its content: 12 bytes a document. A document that is new is taken for a known one with a probability of n/2⁶⁴ for n
known documents; a changed document is taken for an unchanged one with a probability of 2⁻³². The set is a multiset:
documents without ids may repeat, and each copy that was counted can be removed once.
"""

from dataclasses import dataclass

import numpy as np

BYTES_PER_DOCUMENT = 12


@dataclass(frozen=True, eq=False)
class Arrivals:
    """What a batch of documents is to a model.

    Attributes
    ----------
    new : bool array of shape (n,), documents whose identity the model does not know.
    same : bool array of shape (n,), documents that are in the model as they are.
    changed : bool array of shape (n,), documents whose identity is known with other content.
    """

    new: np.ndarray
    same: np.ndarray
    changed: np.ndarray


class KnownDocuments:
    """A sorted multiset of document hashes.

    Parameters
    ----------
    keys : int64 array of shape (n,), hashes of the documents' identities.
    contents : integer array of shape (n,), hashes of their contents; the lowest 32 bits are kept.
    """

    def __init__(self, keys: np.ndarray, contents: np.ndarray) -> None:
        if keys.shape != contents.shape or keys.ndim != 1:
            raise ValueError(f"{keys.shape} keys and {contents.shape} contents; one of each per document is needed")
        keys = np.asarray(keys, np.int64)
        contents = np.asarray(contents).astype(np.int64).view(np.uint64).astype(np.uint32)
        order = np.lexsort((contents, keys))
        self.keys, self.contents = keys[order], contents[order]

    @classmethod
    def none(cls) -> "KnownDocuments":
        """The set of a model without documents."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, KnownDocuments) and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.contents, other.contents)
        )

    __hash__ = None  # type: ignore[assignment]

    def arriving(self, batch: "KnownDocuments") -> Arrivals:
        """Tell the documents of a batch, in its order, that would be added: new, known as they are, or changed."""
        known = np.isin(batch.keys, self.keys)
        same = known & np.isin(batch._pairs(), self._pairs())
        return Arrivals(~known, same, known & ~same)

    def leaving(self, batch: "KnownDocuments") -> Arrivals:
        """The same for documents that would be removed: a copy beyond those that were counted is new to the model."""
        mine, sizes = np.unique(self._pairs(), return_counts=True)
        pairs = batch._pairs()
        at = np.minimum(np.searchsorted(mine, pairs), max(len(mine) - 1, 0))
        there = np.where(mine[at] == pairs, sizes[at], 0) if len(mine) else np.zeros(len(batch), np.int64)
        same = _copy_number(pairs) < there
        changed = ~same & np.isin(batch.keys, self.keys) & (there == 0)
        return Arrivals(~same & ~changed, same, changed)

    def __add__(self, other: "KnownDocuments") -> "KnownDocuments":
        """The documents of both."""
        return KnownDocuments(
            np.concatenate([self.keys, other.keys]), np.concatenate([self.contents, other.contents]).astype(np.int64)
        )

    def __sub__(self, other: "KnownDocuments") -> "KnownDocuments":
        """Without the documents of ``other``, one copy for each of its own; what is not there is ignored."""
        gone, sizes = np.unique(other._pairs(), return_counts=True)
        if not len(gone):
            return self
        pairs = self._pairs()
        at = np.minimum(np.searchsorted(gone, pairs), len(gone) - 1)
        leave = np.where(gone[at] == pairs, sizes[at], 0)
        stay = _copy_number(pairs) >= leave
        return KnownDocuments(self.keys[stay], self.contents[stay].astype(np.int64))

    def selected(self, which: np.ndarray) -> "KnownDocuments":
        """The documents where ``which``, a bool array of shape (n,), is true."""
        return KnownDocuments(self.keys[which], self.contents[which].astype(np.int64))

    def _pairs(self) -> np.ndarray:
        """One 64-bit number for key and content together."""
        mixed = self.contents.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return self.keys.view(np.uint64) ^ mixed


def _copy_number(values: np.ndarray) -> np.ndarray:
    """For each value, how many equal ones come before it."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(values) else order
    sizes = np.diff(np.append(starts, len(values)))
    numbers = np.empty(len(values), np.int64)
    numbers[order] = np.arange(len(values)) - np.repeat(starts, sizes)
    return numbers

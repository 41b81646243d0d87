"""The basis in which moments are kept: p directions over d scaled words (formulas §3)."""

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.directories import SavedDirectory, Staging, new_directory, open_directory
from spectral_spark.files.fingerprint import fingerprint
from spectral_spark.files.formats import BASIS_KIND, BASIS_VERSION
from spectral_spark.files.model_files import words_from
from spectral_spark.files.safe_reading import damaged


@dataclass(frozen=True, eq=False)
class Basis:
    """B = diag(s) Q. Moments can be compared and added only within one basis.

    Attributes
    ----------
    scale : array of shape (d,), s, positive.
    directions : array of shape (d, p), Q, orthonormal columns.
    vocabulary_fingerprint : fingerprint of the d words in their order, or "" if they are not known.
    """

    scale: np.ndarray
    directions: np.ndarray
    vocabulary_fingerprint: str = ""

    def __post_init__(self) -> None:
        d, p = self.directions.shape
        if self.scale.shape != (d,) or p > d or p == 0:
            raise InputError(f"basis: {p} directions over {d} words with {self.scale.shape} scales; "
                             "it needs between 1 and d directions and one scale per word")
        if not (np.all(np.isfinite(self.scale)) and np.all(self.scale > 0) and np.all(np.isfinite(self.directions))):
            raise InputError("basis: a scale is not positive or a direction not finite; make the basis again")

    @property
    def vocab_size(self) -> int:
        return len(self.scale)

    @property
    def size(self) -> int:
        """Number of columns, p."""
        return self.directions.shape[1]

    @cached_property
    def projection(self) -> np.ndarray:
        """B, array of shape (d, p)."""
        return np.ascontiguousarray(self.scale[:, None] * self.directions)

    @cached_property
    def lift(self) -> np.ndarray:
        """diag(1/s) Q, array of shape (d, p): takes vectors of the basis back to words."""
        return self.directions / self.scale[:, None]

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the whole basis, the vocabulary included."""
        return fingerprint("basis", self.scale, self.directions, self.vocabulary_fingerprint)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Basis) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a directory that several fits, also at different sites, can share."""
        with new_directory(path, BASIS_KIND, BASIS_VERSION, overwrite=overwrite) as staging:
            self.write_into(staging)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Basis":
        return cls.read_from(open_directory(path, BASIS_KIND, BASIS_VERSION))

    def write_into(self, staging: Staging, prefix: str = "") -> None:
        """Write into a directory that holds other things too; ``prefix`` ends in ``/``."""
        staging.write_array(f"{prefix}scale", self.scale)
        staging.write_array(f"{prefix}directions", self.directions)
        staging.write_json(f"{prefix}basis.json", {"vocabulary": self.vocabulary_fingerprint})

    @classmethod
    def read_from(cls, saved: SavedDirectory, prefix: str = "") -> "Basis":
        vocabulary = saved.read_object(f"{prefix}basis.json").get("vocabulary")
        if not isinstance(vocabulary, str):
            raise damaged(f"{saved.path}/{prefix}basis.json", "it does not name the vocabulary")
        return cls(saved.read_numbers(f"{prefix}scale", 1), saved.read_numbers(f"{prefix}directions", 2), vocabulary)


def save_shared_basis(
    basis: Basis, words: tuple[str, ...], path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write the basis and its d words, in the order of their ids."""
    with new_directory(path, BASIS_KIND, BASIS_VERSION, overwrite=overwrite) as staging:
        basis.write_into(staging)
        staging.write_table("vocabulary", pa.table({
            "term_id": pa.array(range(len(words)), pa.int32()), "term": pa.array(words, pa.string()),
        }))


def load_shared_basis(path: str | os.PathLike[str]) -> tuple[Basis, tuple[str, ...]]:
    """The basis and its words."""
    saved = open_directory(path, BASIS_KIND, BASIS_VERSION)
    if not saved.has("vocabulary/part-0.parquet"):
        raise FormatError(f"basis '{path}' was saved without its words; create it with 'spectral-spark basis'")
    basis, words = Basis.read_from(saved), words_from(saved)
    if len(words) != basis.vocab_size:
        raise FormatError(f"basis '{path}' has {basis.vocab_size} rows and {len(words)} words; it is damaged")
    return basis, words

"""The fitted model as plain arrays, and its canonical form."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from spectral_spark.errors import FormatError
from spectral_spark.files.directories import SavedDirectory, Staging
from spectral_spark.files.safe_reading import damaged
from spectral_spark.files.table_columns import check_order, checked_columns, matrix_of, numbers_of
from spectral_spark.ibp.source_kinds import KINDS, Kind, kind_named


@dataclass(frozen=True, eq=False)
class FeatureModel:
    """x = offset + Φ z + ε, or offset + Φ (z ∘ y) + ε.

    Attributes
    ----------
    kind : "binary", "isfa" or "iica".
    dictionary : Φ of shape (d, k).
    probabilities : π of shape (k,).
    offset : array of shape (d,), zero for binary features unless they were fitted with a free offset.
    noise_variance : σ².
    """

    kind: str
    dictionary: np.ndarray
    probabilities: np.ndarray
    offset: np.ndarray
    noise_variance: float

    @property
    def k(self) -> int:
        return self.dictionary.shape[1]

    @property
    def width(self) -> int:
        return self.dictionary.shape[0]

    @property
    def law(self) -> Kind:
        return kind_named(self.kind)

    @property
    def explained_variances(self) -> np.ndarray:
        """Variance that each feature adds over all columns, of shape (k,)."""
        pi = self.probabilities
        spread = pi * (1 - pi) if self.law.is_binary else self.law.variance * pi
        return spread * (self.dictionary**2).sum(axis=0)

    def reconstruct(self, codes: np.ndarray) -> np.ndarray:
        """offset + codes Φᵀ of shape (n, d)."""
        return codes @ self.dictionary.T + self.offset

    def order(self) -> np.ndarray:
        """Positions of the columns by the variance they explain, largest first."""
        return np.argsort(-self.explained_variances, kind="stable")

    def ordered(self) -> "FeatureModel":
        """The model with its columns ordered by the variance they explain."""
        order = self.order()
        return replace(self, dictionary=self.dictionary[:, order], probabilities=self.probabilities[order])

    def write(self, staging: Staging) -> None:
        """``features/`` (feature, probability, column) and ``offset/`` as Parquet, ``features.json``."""
        starts = np.arange(0, (self.k + 1) * self.width, self.width, dtype=np.int32)
        staging.write_table("features", pa.table({
            "feature": pa.array(range(self.k), pa.int32()),
            "probability": pa.array(self.probabilities, pa.float64()),
            "column": pa.ListArray.from_arrays(starts, pa.array(self.dictionary.T.ravel(), pa.float64())),
        }))
        staging.write_table("offset", pa.table({"offset": pa.array(self.offset, pa.float64())}))
        staging.write_json("features.json", {"kind": self.kind, "noise_variance": self.noise_variance})

    @classmethod
    def read(cls, saved: SavedDirectory) -> "FeatureModel":
        about, where = saved.read_object("features.json"), f"{saved.path}/features"
        table = checked_columns(saved.read_table("features"), ("probability", "column"), where)
        check_order(table, "feature", where)
        columns, probabilities = matrix_of(table, "column", where), numbers_of(table, "probability", where)
        offset = checked_columns(saved.read_table("offset"), ("offset",), f"{saved.path}/offset")["offset"].to_numpy()
        if offset.dtype.kind != "f" or not np.all(np.isfinite(offset)):
            raise damaged(f"{saved.path}/offset", "a number is missing or not finite")
        if columns.shape[1] != len(offset):
            raise FormatError(f"'{saved.path}': {columns.size} numbers are not a dictionary of {len(offset)} × "
                              f"{len(columns)}; the directory is damaged")
        if probabilities.max() > 1:
            raise damaged(where, "a probability exceeds one")
        variance = about.get("noise_variance")
        if about.get("kind") not in KINDS or not isinstance(variance, int | float) or variance < 0:
            raise damaged(f"{saved.path}/features.json", "its kind is unknown, or the noise variance is not a number")
        return cls(about["kind"], np.ascontiguousarray(columns.T), probabilities, offset, float(variance))


def largest_entry_positive(columns: np.ndarray) -> np.ndarray:
    """Signs of shape (k,) that make the entry of largest magnitude of every column positive."""
    peaks = columns[np.argmax(np.abs(columns), axis=0), np.arange(columns.shape[1])]
    return np.where(peaks < 0, -1.0, 1.0)

"""The fitted model as plain arrays, and its canonical form."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from spectral_spark.errors import FormatError
from spectral_spark.files.directories import SavedDirectory, Staging
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
        about, table = saved.read_json("features.json"), saved.read_table("features")
        offset = saved.read_table("offset")["offset"].to_numpy()
        flat = np.concatenate([chunk.flatten().to_numpy() for chunk in table["column"].chunks] or [np.zeros(0)])
        k, d = table.num_rows, len(offset)
        if k == 0 or len(flat) != k * d or about.get("kind") not in KINDS:
            raise FormatError(f"'{saved.path}': {len(flat)} numbers are not a dictionary of {d} × {k}; "
                              "the directory is damaged")
        dictionary = np.ascontiguousarray(flat.reshape(k, d).T)
        return cls(about["kind"], dictionary, table["probability"].to_numpy(), offset, float(about["noise_variance"]))


def largest_entry_positive(columns: np.ndarray) -> np.ndarray:
    """Signs of shape (k,) that make the entry of largest magnitude of every column positive."""
    peaks = columns[np.argmax(np.abs(columns), axis=0), np.arange(columns.shape[1])]
    return np.where(peaks < 0, -1.0, 1.0)

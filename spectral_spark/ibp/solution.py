"""The fitted model as plain arrays, and its canonical form."""

from dataclasses import dataclass, replace

import numpy as np

from spectral_spark.errors import FormatError
from spectral_spark.ibp.kinds import Kind, kind_named
from spectral_spark.storage import SavedDirectory, Staging


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
        """The model with its columns in that order."""
        order = self.order()
        return replace(self, dictionary=self.dictionary[:, order], probabilities=self.probabilities[order])

    def write(self, staging: Staging) -> None:
        staging.write_array("dictionary", self.dictionary)
        staging.write_array("probabilities", self.probabilities)
        staging.write_array("offset", self.offset)
        staging.write_json("features.json", {"kind": self.kind, "noise_variance": self.noise_variance})

    @classmethod
    def read(cls, saved: SavedDirectory) -> "FeatureModel":
        about = saved.read_json("features.json")
        model = cls(
            about["kind"],
            saved.read_array("dictionary"),
            saved.read_array("probabilities"),
            saved.read_array("offset"),
            float(about["noise_variance"]),
        )
        d, k = model.dictionary.shape
        if model.probabilities.shape != (k,) or model.offset.shape != (d,):
            raise FormatError(f"'{saved.path}': probabilities and offset do not fit a dictionary of {d} × {k}")
        return model


def largest_entry_positive(columns: np.ndarray) -> np.ndarray:
    """Signs of shape (k,) that make the entry of largest magnitude of every column positive."""
    peaks = columns[np.argmax(np.abs(columns), axis=0), np.arange(columns.shape[1])]
    return np.where(peaks < 0, -1.0, 1.0)

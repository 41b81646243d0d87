"""The additive state of a feature model: sums over its rows, in coordinates that stay as they are.

Sums of several sets of rows in the same basis are added, and sums of rows that have to go are subtracted. Everything
that a fit computes, for any k, follows from them without the rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.files.fingerprint import fingerprint
from spectral_spark.ibp.frame_moments import FrameMoments
from spectral_spark.ibp.packed_cumulants import quadruple_indices, unpack4
from spectral_spark.ibp.row_means import ColumnMeans, column_means
from spectral_spark.ibp.spectrum import EXACT_WIDTH
from spectral_spark.moments.sources import added, subtracted
from spectral_spark.moments.symmetric_packing import pack2, pair_positions, triple_indices, unpack2, unpack3

PAIRWISE = "pairwise"


@dataclass(frozen=True, eq=False)
class FeatureBasis:
    """The coordinates of a state: y = Bᵀ(x − c).

    Attributes
    ----------
    centre : c of shape (d,), the mean of the first rows.
    directions : B of shape (d, p) with orthogonal columns: whitened directions of the first fit, then further ones.
    """

    centre: np.ndarray
    directions: np.ndarray

    @property
    def width(self) -> int:
        return self.directions.shape[0]

    @property
    def size(self) -> int:
        return self.directions.shape[1]

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint("feature basis", self.centre, self.directions)

    @property
    def lift(self) -> np.ndarray:
        """B (BᵀB)⁻¹ of shape (d, p), from coordinates back to rows."""
        return self.directions / (self.directions**2).sum(axis=0)

    @property
    def spans_everything(self) -> bool:
        """Whether the basis has as many directions as there are columns, so that nothing lies outside."""
        return self.size == self.width


@dataclass(frozen=True, eq=False)
class FeatureState:
    """Sums over the rows of a model.

    Attributes
    ----------
    basis : the coordinates.
    missing : how missing values were treated: "refuse", "mean" or "pairwise".
    sums : arrays by name. Of the rows: ``rows`` (1,); ``present``, ``sum`` Σ (x − c) and ``nonzero`` (d,); up to 1,024
        columns ``product`` Σ (x−c)(x−c)ᵀ, packed, beyond ``squares`` Σ (x−c)² (d,). In the basis: ``projected`` (1,),
        ``first`` (p,), ``second`` (p, p), ``third`` and ``fourth``, packed. With missing values, pairwise:
        ``pair_counts``, packed, ``pair_sums`` (d, d), ``noise_second`` and ``noise_fourth``.
    sources : fingerprints of the sets of rows that were added, and marks of those that were removed.
    """

    basis: FeatureBasis
    missing: str
    sums: Mapping[str, np.ndarray]
    sources: tuple[str, ...]

    @property
    def rows(self) -> int:
        return round(float(self.sums["rows"][0]))

    @property
    def is_full(self) -> bool:
        """Whether the whole covariance is known, not only its part in the basis."""
        return "product" in self.sums

    def __add__(self, other: "FeatureState") -> "FeatureState":
        other = self._compatible(other)
        return self._joined(other, np.add, added(self.sources, other.sources))

    def __sub__(self, other: "FeatureState") -> "FeatureState":
        other = self._compatible(other)
        if other.rows >= self.rows:
            raise InputError(f"all {self.rows:,} rows would be removed; a model needs rows")
        return self._joined(other, np.subtract, subtracted(self.sources, other.sources))

    def _joined(
        self, other: "FeatureState", operation: Callable[..., np.ndarray], sources: tuple[str, ...]
    ) -> "FeatureState":
        sums = {name: operation(array, other.sums[name]) for name, array in self.sums.items()}
        return replace(self, sums=sums, sources=sources)

    def _compatible(self, other: "FeatureState") -> "FeatureState":
        if self.basis.width != other.basis.width:
            raise InputError(f"moments: {self.basis.width:,} columns in one model, {other.basis.width:,} in the other")
        if (self.missing == PAIRWISE) != (other.missing == PAIRWISE):
            raise InputError(f"moments: `missing` is '{self.missing}' in one model and '{other.missing}' in the other; "
                             "fit both with the same")
        return other.in_basis(self.basis)

    def in_basis(self, basis: FeatureBasis) -> "FeatureState":
        """The same rows in another basis. Possible only where both have as many directions as there are columns."""
        if basis.fingerprint == self.basis.fingerprint:
            return self
        if not (self.basis.spans_everything and basis.spans_everything and self.missing != PAIRWISE):
            raise InputError(
                f"moments: the models have different bases ({self.basis.size} and {basis.size} directions of "
                f"{basis.width:,} columns); fit one of them in the basis of the other: setBasis(model.basis), or on "
                "the command line --basis MODEL"
            )
        step, n = self.basis.centre - basis.centre, self.sums["rows"][0]
        turn, total = self.basis.lift.T @ basis.directions, self.sums["sum"]
        moments = self.frame_moments().turned(turn).moved(basis.directions.T @ step)
        product = unpack2(self.sums["product"], self.basis.width) + n * np.outer(step, step)
        product += np.outer(total, step) + np.outer(step, total)
        new = {
            "sum": total + self.sums["present"] * step, "product": pack2(product), "first": n * moments.first,
            "second": n * moments.second, "third": n * pack3(moments.third), "fourth": n * pack4(moments.fourth),
        }
        return replace(self, basis=basis, sums={**self.sums, **new})

    def means(self) -> ColumnMeans:
        """The mean of each column over its values; with ``missing="mean"``, a missing one counts as the centre."""
        found = column_means({**self.sums, "infinite": np.zeros(self.basis.width)}, self.missing)
        divisor = self.sums["present"] if self.missing == PAIRWISE else self.sums["rows"]
        return ColumnMeans(found.rows, self.basis.centre + self.sums["sum"] / divisor, found.missing)

    def covariance(self) -> np.ndarray:
        """Of shape (d, d); over the rows that have both values if missing ones are treated pairwise."""
        d, shift = self.basis.width, self.sums["sum"] / self.sums["rows"]
        product = unpack2(self.sums["product"], d)
        if self.missing != PAIRWISE:
            return np.asarray(product / self.sums["rows"] - np.outer(shift, shift))
        counts, sums = unpack2(self.sums["pair_counts"], d), self.sums["pair_sums"]
        if (counts < 1).any():
            i, j = np.argwhere(counts < 1)[0]
            raise InputError(f"no row has a value in both column {i} and column {j}, so their covariance is unknown; "
                             "drop one of them")
        shift = self.sums["sum"] / self.sums["present"]
        crossed = sums * shift                                   # (i, j): Σ (x−c)_i over rows with j, times j's mean
        return np.asarray((product - crossed - crossed.T) / counts + np.outer(shift, shift))

    def total_variance(self) -> float:
        """The trace of the covariance."""
        if self.is_full:
            return float(np.trace(self.covariance()))
        divisor = self.sums["present"] if self.missing == PAIRWISE else self.sums["rows"]
        return float((self.sums["squares"] / divisor - (self.sums["sum"] / divisor) ** 2).sum())

    def frame_moments(self) -> FrameMoments:
        """Moments of y, not centred."""
        p, n = self.basis.size, self.sums["projected"][0]
        if n < 1:
            raise InputError("no row has values in enough columns to count in third and fourth moments; leave out the "
                             "columns that are mostly missing, or lower `basisSize`")
        return FrameMoments(
            self.sums["first"] / n, self.sums["second"] / n, unpack3(self.sums["third"] / n, p),
            unpack4(self.sums["fourth"] / n, p),
        )


def state_from_passes(
    basis: FeatureBasis, missing: str, mean: Mapping[str, np.ndarray], covariance: Mapping[str, np.ndarray],
    cumulants: Mapping[str, np.ndarray], sources: tuple[str, ...],
) -> FeatureState:
    """The state from the sums of the kernels of means, covariances and cumulants, all around the basis's centre."""
    sums = {name: np.asarray(mean[name]) for name in ("rows", "present", "sum", "nonzero")}
    for name in ("product", "pair_counts"):
        if name in covariance and basis.width <= EXACT_WIDTH:       # beyond, the product is that with a probe
            sums[name] = pack2(covariance[name])
    for name in ("pair_sums", "squares"):
        if name in covariance:
            sums[name] = covariance[name]
    sums |= {"projected": sums["rows"], "first": basis.directions.T @ sums["sum"]} | dict(cumulants)
    return FeatureState(basis, missing, sums, sources)


def pack3(tensor: np.ndarray) -> np.ndarray:
    """(p, p, p) → (triples,)."""
    return tensor[triple_indices(len(tensor))]


def pack4(pairs: np.ndarray) -> np.ndarray:
    """(pairs, pairs) → (quadruples,)."""
    p = int((np.sqrt(8 * len(pairs) + 1) - 1) / 2)
    i, j, l, m = quadruple_indices(p)
    at = pair_positions(p)
    return pairs[at[i, j], at[l, m]]


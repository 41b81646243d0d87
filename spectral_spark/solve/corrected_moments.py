"""From moments of words to moments of topics: S2 = C3 Σ π φφᵀ and S3 = C6 Σ π φ⊗φ⊗φ in the basis (formulas §1)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.moments.coefficients import HDPCoefficients
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve.symmetric_tensor import Contraction, sym3, transformed


@dataclass(frozen=True, eq=False)
class CorrectedMoments:
    """Moments without the part of the common mean: only the topics' own moments remain.

    Attributes
    ----------
    first : array of shape (p,), M1.
    second : symmetric array of shape (p, p), S2.
    third_in : function of W (p, k) with WᵀS2W = I to S3(W, W, W): an array of shape (k, k, k) or, where it is never
        formed, its products with vectors.
    coefficients : C2 … C6 used.
    """

    first: np.ndarray
    second: np.ndarray
    third_in: Callable[[np.ndarray], np.ndarray | Contraction]
    coefficients: HDPCoefficients


def check_moments(moments: ProjectedMoments, where: str = "moments") -> None:
    """Refuse moments whose shapes disagree or that hold NaN or infinity."""
    p = len(moments.first)
    wanted = {"first": (p,), "second": (p, p), "third": (p, p, p)}
    for name, shape in wanted.items():
        array = getattr(moments, name)
        if array is None:
            continue
        if array.shape != shape:
            raise InputError(f"{where}: {name} has shape {array.shape}, expected {shape}; use moments of one basis")
        if not np.isfinite(array).all():
            bad = int(array.size - np.isfinite(array).sum())
            raise InputError(
                f"{where}: {bad} of {array.size} entries of the {name} moment are not finite; "
                "check the documents for NaN or infinite counts or weights, and collect the moments again"
            )


def second_corrected(moments: ProjectedMoments, coefficients: HDPCoefficients) -> np.ndarray:
    """S2 = M2 − C2 M1M1ᵀ of shape (p, p)."""
    return moments.second - coefficients.c2 * np.outer(moments.first, moments.first)


def corrected_moments(moments: ProjectedMoments, coefficients: HDPCoefficients) -> CorrectedMoments:
    """S2 and S3 of the root.

    S3 = M3 − C4 M1⊗M1⊗M1 − C5 sym3(S2 ⊗ M1) is subtracted after whitening, where S2 is the identity (with −1
    for negative directions, if signs were disregarded) and nothing is p³.
    """

    third = moments.third
    if third is None:
        raise InputError("the moments were collected without third moments; solve them with `solver=implicit` and a "
                         "sample of the documents")

    second = second_corrected(moments, coefficients)

    def third_in(whitening: np.ndarray) -> np.ndarray:
        mean = whitening.T @ moments.first
        cube = np.multiply.outer(np.outer(mean, mean), mean)
        inside = np.diag(np.where(np.diag(whitening.T @ second @ whitening) < 0, -1.0, 1.0))
        common = coefficients.c4 * cube + coefficients.c5 * sym3(inside, mean)
        return transformed(third, whitening) - common

    return CorrectedMoments(moments.first, second, third_in, coefficients)

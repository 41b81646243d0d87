"""Tensors per group, averaged over groups (formulas §6): better than root moments if there are few groups.

Given the groups' own proportions, only the documents inside a group are random: neither sampling error between groups
nor concentrations above the documents enter. All that is needed are averages over groups of products of their moments.
"""

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.moments.coefficients import HDPCoefficients
from spectral_spark.moments.group_moments import GroupAverages
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve.corrected_moments import CorrectedMoments
from spectral_spark.solve.symmetric_tensor import transformed


def group_corrected_moments(
    moments: ProjectedMoments, groups: GroupAverages, coefficients: HDPCoefficients
) -> CorrectedMoments:
    """S2 = M2 − c2 X2 and S3 = M3 − c4 X3 − c5 (J3 − 3 c2 X3), averages over groups.

    Parameters
    ----------
    moments : the same documents with the same weights as behind ``groups``.
    groups : X2, X3 and J3.
    coefficients : of the documents' concentration alone (a 2-layer tree).
    """
    if moments.third is None:
        raise InputError("tensors per group need third moments, and these were collected without them; fit again with "
                         "`solver=polar`")
    for name in ("second", "third", "mixed"):
        array, expected = getattr(groups, name), getattr(moments, "second" if name == "second" else "third").shape
        if array.shape != expected:
            raise InputError(f"group moments: {name} has shape {array.shape}, expected {expected}; use one basis")
        if not np.isfinite(array).all():
            raise InputError(f"group moments: {name} is not finite; drop groups without documents before averaging")
    c = coefficients
    second = moments.second - c.c2 * groups.second
    third = moments.third - (c.c4 - 3.0 * c.c2 * c.c5) * groups.third - c.c5 * groups.mixed
    return CorrectedMoments(moments.first, second, lambda whitening: transformed(third, whitening), c)

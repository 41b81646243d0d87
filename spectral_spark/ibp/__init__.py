"""Latent feature models: moments and solvers for binary, isFA and iICA features (formulas §10). NumPy only.

    x = offset + Φ z + ε            binary  z_i ∈ {0, 1}, P(z_i = 1) = π_i
    x = offset + Φ (z ∘ y) + ε      isfa    y standard normal;   iica   y standard Laplace (E y² = 2)
    ε ~ N(0, σ² I)

====================  =====================================================================
symbol                name here
====================  =====================================================================
Φ (d, k)              ``dictionary``
π (k,)                ``probabilities``
σ²                    ``noise_variance``
μ, cov(x)             ``mean``, ``Spectrum`` (leading eigenpairs and the trace)
W (d, k), (W†)ᵀ       ``RowWhitening.matrix``, ``RowWhitening.lift``: Wᵀ (cov − σ² I) W = I
W3, W4                ``WhitenedCumulants.third``, ``.fourth`` (pairs × pairs)
λ3, λ4                ``third_eigenvalues``, ``fourth_eigenvalues``
z, z ∘ y              ``most_likely`` codes, posterior ``mean`` and ``activity``
====================  =====================================================================

Where the moments leave a choice, the result has a canonical form: columns are ordered by the variance they explain; in
isFA and iICA the sign of a column is free and the entry of largest magnitude is made positive, the scale is fixed by
the variance of y (1 or 2); Gaussian factors that are always on (isFA with π = 1) are known only as a subspace and come
as its principal axes; a binary model with a free offset cannot tell z from 1 − z and gets the sign rule of isFA.
"""

from spectral_spark.data.dense_batch import DenseBatch, local_runner
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.solve_features import IbpFit, IbpSettings, fit_features

__all__ = ["DenseBatch", "FeatureModel", "IbpFit", "IbpSettings", "fit_features", "local_runner"]

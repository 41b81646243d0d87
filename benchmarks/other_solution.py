"""Another implementation of moments and solvers, loaded from a file, on the benchmark's own draws.

The file must define ``Moments(B).add(counts).finish()``, ``range_finder``, ``hdp_coeffs``, ``whitened``,
``simul_power``, ``rtpm`` and ``topics_out``; nothing of it is part of the package.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.moments.range_finder import word_scale

COUNTERPARTS = {"polar": "simul_power", "power": "rtpm"}      # solver here: function there


def load(path: Path) -> ModuleType:
    """The module in that file."""
    found = importlib.util.spec_from_file_location(path.stem, path)
    if found is None or found.loader is None:
        raise SystemExit(f"{path} is no Python file")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def topics(
    other: ModuleType, documents: CountBatch, k: int, p: int, concentrations: Sequence[float]
) -> dict[str, np.ndarray]:
    """Topics (d, k) by solver, for documents of equal weight and a basis of p columns after three passes."""
    counts = documents.matrix
    weight = np.full(documents.n_documents, 1 / documents.n_documents)
    mean = np.asarray((counts.multiply(1 / documents.lengths[:, None])).mean(axis=0)).ravel()
    scale = word_scale(mean, 0.5)
    basis = other.range_finder(counts, weight, p, scale=scale, q=2)
    coefficients = other.hdp_coeffs(list(concentrations))
    moments = other.Moments(scale[:, None] * basis).add(counts).finish()
    tensor, whitening, back, _ = other.whitened(*moments, coefficients, k)
    lift, found = basis / scale[:, None], {}
    for solver, function in COUNTERPARTS.items():
        values, vectors = getattr(other, function)(tensor)
        found[solver], _ = other.topics_out(values, vectors, whitening, back, moments[0], coefficients, lift)
    return found

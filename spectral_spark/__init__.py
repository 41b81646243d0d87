"""Spectral topic models for corpora with a document tree, on Spark.

The method is that of Hsiao-Yu Fish Tung, Chao-Yuan Wu, Manzil Zaheer and Alexander J. Smola, "Spectral Methods for
Nonparametric Models" (arXiv, 2017). Docstrings call it "the paper", and cite its formulas, corrected, as "formulas §n":
section n of ``docs/formulas.md``.

The public names load on first use, so that the NumPy-only packages (``moments``, ``solve``, ``refine``, ``ibp``) can be
imported without Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spectral_spark.version import __version__ as __version__

if TYPE_CHECKING:
    from spectral_spark.ml.evaluator import TopicModelEvaluator
    from spectral_spark.ml.hdp import SpectralHDP, SpectralHDPModel
    from spectral_spark.ml.ibp import SpectralIBP, SpectralIBPModel
    from spectral_spark.moments.moment_state import MomentState

_HOMES = {
    "SpectralHDP": "spectral_spark.ml.hdp",
    "SpectralHDPModel": "spectral_spark.ml.hdp",
    "SpectralIBP": "spectral_spark.ml.ibp",
    "SpectralIBPModel": "spectral_spark.ml.ibp",
    "TopicModelEvaluator": "spectral_spark.ml.evaluator",
    "MomentState": "spectral_spark.moments.moment_state",
}
__all__ = ["MomentState", "SpectralHDP", "SpectralHDPModel", "SpectralIBP", "SpectralIBPModel",
           "TopicModelEvaluator"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'spectral_spark' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

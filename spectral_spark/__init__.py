"""Spectral topic models for corpora with a document tree, on Spark.

The method is that of Hsiao-Yu Fish Tung, Chao-Yuan Wu, Manzil Zaheer and Alexander J. Smola, "Spectral Methods for
Nonparametric Models" (arXiv, 2017). Docstrings call it "the paper", and cite its formulas, corrected, as "formulas §n":
section n of ``docs/formulas.md``.

The public names load on first use. ``TopicModel``, ``MomentState`` and the NumPy-only packages (``moments``, ``solve``,
``refine``, ``ibp``) work without Spark; the other names say so where it is missing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spectral_spark.errors import INSTALL_SPARK, SparkMissingError
from spectral_spark.version import __version__ as __version__

if TYPE_CHECKING:
    from spectral_spark.ml.evaluator import TopicModelEvaluator
    from spectral_spark.ml.hdp import SpectralHDP, SpectralHDPModel
    from spectral_spark.ml.ibp import SpectralIBP, SpectralIBPModel
    from spectral_spark.moments.moment_state import MomentState
    from spectral_spark.serve.topic_model import TopicModel

_HOMES = {
    "SpectralHDP": "spectral_spark.ml.hdp",
    "SpectralHDPModel": "spectral_spark.ml.hdp",
    "SpectralIBP": "spectral_spark.ml.ibp",
    "SpectralIBPModel": "spectral_spark.ml.ibp",
    "TopicModelEvaluator": "spectral_spark.ml.evaluator",
    "MomentState": "spectral_spark.moments.moment_state",
    "TopicModel": "spectral_spark.serve.topic_model",
}
__all__ = ["MomentState", "SpectralHDP", "SpectralHDPModel", "SpectralIBP", "SpectralIBPModel",
           "TopicModel", "TopicModelEvaluator"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(import_module(_HOMES[name]), name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "pyspark":
                raise
            raise SparkMissingError(f"{name} needs Spark, and pyspark cannot be imported: {INSTALL_SPARK}") from None
    raise AttributeError(f"module 'spectral_spark' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

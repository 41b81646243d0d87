"""Gibbs sampling, incremental EM, node priors and concentrations (formulas §11). NumPy only; numba if installed.

| symbol | name |
|---|---|
| Φ (d, k) | topics |
| θ_d | proportions of a document |
| π_v | proportions of tree node v |
| g_l, g | concentrations of the nodes of level l, of the documents |
| α = g π_v | prior of the documents of node v |
| ρ | how far a mini-batch moves the statistics, falling from round to round |

The names load on first use: a process that only scores a text needs few of the modules.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spectral_spark.refine.em_kernel import RefineKernel
    from spectral_spark.refine.em_passes import (
        after_pass,
        after_round,
        after_settling,
        drop_dead,
        refine_round,
        settle_round,
    )
    from spectral_spark.refine.fold_in import infer
    from spectral_spark.refine.gibbs import DocumentSample, GibbsSampler
    from spectral_spark.refine.gibbs_settings import GibbsSettings
    from spectral_spark.refine.refine_settings import RefineSettings
    from spectral_spark.refine.refine_state import RefineState

__all__ = [
    "DocumentSample", "GibbsSampler", "GibbsSettings", "RefineKernel", "RefineSettings", "RefineState", "after_pass",
    "after_round", "after_settling", "drop_dead", "infer", "refine_round", "settle_round",
]
_HOMES = {
    "DocumentSample": "gibbs",
    "GibbsSampler": "gibbs",
    "GibbsSettings": "gibbs_settings",
    "RefineKernel": "em_kernel",
    "RefineSettings": "refine_settings",
    "RefineState": "refine_state",
    "after_pass": "em_passes",
    "after_round": "em_passes",
    "after_settling": "em_passes",
    "drop_dead": "em_passes",
    "infer": "fold_in",
    "refine_round": "em_passes",
    "settle_round": "em_passes",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

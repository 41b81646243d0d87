"""A feature state on disk, below ``moments/`` of a model: .npy for sums, JSON for the rest."""

import numpy as np

from spectral_spark.files.directories import SavedDirectory, Staging
from spectral_spark.files.safe_reading import damaged
from spectral_spark.ibp.feature_state import PAIRWISE, FeatureBasis, FeatureState
from spectral_spark.ibp.packed_cumulants import quadruple_count
from spectral_spark.moments.symmetric_packing import pair_count, triple_count

_PREFIX = "moments/"
_ABOUT = f"{_PREFIX}state.json"


def write_state(staging: Staging, state: FeatureState | None) -> None:
    """Write the state, if there is one."""
    if state is None:
        return
    staging.write_array(f"{_PREFIX}centre", state.basis.centre)
    staging.write_array(f"{_PREFIX}directions", state.basis.directions)
    for name, array in state.sums.items():
        staging.write_array(f"{_PREFIX}{name}", array)
    staging.write_json(_ABOUT, {
        "missing": state.missing, "sources": list(state.sources), "whole_covariance": state.is_full,
        "basis": state.basis.fingerprint,
    })


def read_state(saved: SavedDirectory) -> FeatureState | None:
    """Read what :func:`write_state` wrote; None for a model of version 0.1.0. What does not fit together is refused."""
    if not saved.has(_ABOUT):
        return None
    about, where = saved.read_object(_ABOUT), f"{saved.path}/{_ABOUT}"
    missing, sources, full = about.get("missing"), about.get("sources"), about.get("whole_covariance")
    if missing not in ("refuse", "mean", PAIRWISE) or not isinstance(full, bool):
        raise damaged(where, "it does not describe moments")
    if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
        raise damaged(where, "'sources' does not hold names")
    basis = FeatureBasis(saved.read_numbers(f"{_PREFIX}centre", 1), saved.read_numbers(f"{_PREFIX}directions", 2))
    d, p = basis.directions.shape
    if basis.centre.shape != (d,) or not 0 < p <= d or about.get("basis") != basis.fingerprint:
        raise damaged(where, "the basis is not the one that the moments were collected in")
    sums = {}
    for name, shape in _shapes(d, p, full=full, pairwise=missing == PAIRWISE).items():
        sums[name] = saved.read_numbers(f"{_PREFIX}{name}", len(shape))
        if sums[name].shape != shape or sums[name].dtype != np.float64:
            raise damaged(f"{saved.path}/{_PREFIX}{name}.npy", f"numbers of shape {sums[name].shape}, expected {shape}")
    if sums["rows"][0] < 1:
        raise damaged(where, "there are no rows")
    return FeatureState(basis, missing, sums, tuple(sources))


def _shapes(d: int, p: int, *, full: bool, pairwise: bool) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "rows": (1,), "present": (d,), "sum": (d,), "nonzero": (d,), "projected": (1,), "first": (p,), "second": (p, p),
        "third": (triple_count(p),), "fourth": (quadruple_count(p),),
    }
    shapes |= {"product": (pair_count(d),)} if full else {"squares": (d,)}
    if pairwise:
        shapes |= {"noise_second": (p, p), "noise_fourth": (quadruple_count(p),)}
        shapes |= {"pair_counts": (pair_count(d),), "pair_sums": (d, d)} if full else {}
    return shapes

"""The fields of a MomentState on disk: .npy for sums, Parquet for the tree, JSON for the rest."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pyarrow as pa

from spectral_spark.errors import FormatError, SpectralError
from spectral_spark.files.directories import SavedDirectory, Staging
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.group_moments import DistinctParts, GroupStatistics
from spectral_spark.moments.leaf_moments import LeafMoments
from spectral_spark.moments.symmetric_packing import pair_count, triple_count
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree

STATE_KIND, STATE_VERSION = "spectral-moments", 1

_LEAF = [field.name for field in fields(LeafMoments)]
_GROUP = ["counts", "first", "second"]
_DISTINCT = [field.name for field in fields(DistinctParts)]


def write_fields(state: Mapping[str, Any], staging: Staging, prefix: str) -> None:
    """Write all fields of a state below ``prefix`` ("" or ending in ``/``)."""
    basis, census, groups = state["basis"], state["census"], state["groups"]
    basis.write_into(staging, f"{prefix}basis/")
    for name, half in zip("ab", state["half_samples"], strict=True):
        _write_arrays(staging, f"{prefix}half_{name}/", half, _LEAF)
    staging.write_table(f"{prefix}tree", pa.table({
        "path": pa.array([list(path) for path in census.tree.paths], pa.list_(pa.string())),
        "documents": pa.array(census.documents, pa.int64()),
        "tokens": pa.array(census.tokens, pa.float64()),
        "tokens_squared": pa.array(census.tokens_squared, pa.float64()),
        **({} if census.tokens_cubed is None else {"tokens_cubed": pa.array(census.tokens_cubed, pa.float64())}),
    }))
    staging.write_array(f"{prefix}node_first", state["node_first"])
    staging.write_array(f"{prefix}noise", state["noise"])
    if groups is not None:
        _write_arrays(staging, f"{prefix}groups/", groups, _GROUP)
        if groups.distinct is not None:
            _write_arrays(staging, f"{prefix}groups/distinct_", groups.distinct, _DISTINCT)
    staging.write_json(f"{prefix}state.json", {
        "version": STATE_VERSION,
        "weighting": state["weighting"],
        "cap": state["cap"],
        "slots": [slot if isinstance(slot, str) else list(slot) for slot in state["slots"]],
        "sources": list(state["sources"]),
        "dropped": state["dropped"],
        "basis": basis.fingerprint,
        "vocabulary": basis.vocabulary_fingerprint,
        "groups": None if groups is None else {
            "paths": [list(path) for path in groups.paths],
            "by_length": groups.by_length,
            "distinct": groups.distinct is not None,
        },
    })


def read_fields(saved: SavedDirectory, prefix: str) -> dict[str, Any]:
    """Read what :func:`write_fields` wrote. Parts that are missing or do not fit together are refused."""
    about = saved.read_json(f"{prefix}state.json")
    if not isinstance(about, dict) or not isinstance(about.get("version"), int):
        raise FormatError(f"'{saved.path}/{prefix}state.json' is not a moment state; restore the directory from "
                          "a copy, or collect the moments again")
    if about["version"] > STATE_VERSION:
        raise FormatError(f"'{saved.path}' holds moments of format {about['version']}, and this version reads up to "
                          f"format {STATE_VERSION}; upgrade spectral_spark")
    try:
        state = _read(saved, prefix, about)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, SpectralError):
            raise
        raise FormatError(f"'{saved.path}/{prefix}': the moments are damaged ({error})") from None
    _check(state, about, saved.path)
    return state


def _read(saved: SavedDirectory, prefix: str, about: Mapping[str, Any]) -> dict[str, Any]:
    table = saved.read_table(f"{prefix}tree")
    paths = [tuple(path) for path in table["path"].to_pylist()]
    tree = DocumentTree.from_paths(paths)
    if list(tree.paths) != paths:
        raise FormatError(f"'{saved.path}/{prefix}tree': nodes are missing or out of order; the directory is damaged")
    counts = [name for name in table.column_names if name != "path"]
    halves = [
        LeafMoments(**{field: saved.read_array(f"{prefix}half_{name}/{field}") for field in _LEAF}) for name in "ab"
    ]
    return {
        "basis": Basis.read_from(saved, f"{prefix}basis/"),
        "weighting": about["weighting"],
        "cap": about["cap"],
        "slots": tuple(slot if isinstance(slot, str) else tuple(slot) for slot in about["slots"]),
        "half_samples": (halves[0], halves[1]),
        "census": Census(tree, **{name: table[name].to_numpy() for name in counts}),
        "node_first": saved.read_array(f"{prefix}node_first"),
        "noise": saved.read_array(f"{prefix}noise"),
        "groups": _read_groups(saved, prefix, about["groups"]),
        "sources": tuple(about["sources"]),
        "dropped": about["dropped"],
    }


def _read_groups(saved: SavedDirectory, prefix: str, about: dict[str, Any] | None) -> GroupStatistics | None:
    if about is None:
        return None
    distinct = None
    if about["distinct"]:
        distinct = DistinctParts(**{name: saved.read_array(f"{prefix}groups/distinct_{name}") for name in _DISTINCT})
    arrays = {name: saved.read_array(f"{prefix}groups/{name}") for name in _GROUP}
    return GroupStatistics(tuple(tuple(path) for path in about["paths"]), about["by_length"], **arrays,
                           distinct=distinct)


def _check(state: Mapping[str, Any], about: Mapping[str, Any], path: str) -> None:
    basis: Basis = state["basis"]
    if about["basis"] != basis.fingerprint or about["vocabulary"] != basis.vocabulary_fingerprint:
        raise FormatError(f"'{path}': the basis stored beside the moments is not the one they were collected in; "
                          "restore the directory from a copy")
    d, p, slots, nodes = basis.vocab_size, basis.size, len(state["slots"]), len(state["census"].tree)
    expected = {"totals": (slots, 3), "words": (slots, d), "first": (slots, p), "second": (slots, pair_count(p)),
                "third": (slots, triple_count(p))}
    found = {name: half.arrays()[name].shape for half in state["half_samples"] for name in expected}
    if found != expected or state["node_first"].shape != (nodes, p):
        raise FormatError(f"'{path}': moments of shapes {found}, expected {expected}; the directory is damaged")


def _write_arrays(staging: Staging, prefix: str, holder: object, names: list[str]) -> None:
    for name in names:
        staging.write_array(f"{prefix}{name}", getattr(holder, name))

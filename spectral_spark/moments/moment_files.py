"""The fields of a MomentState on disk: .npy for sums, Parquet for the tree, JSON for the rest."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import pyarrow as pa

from spectral_spark.errors import FormatError
from spectral_spark.files.directories import SavedDirectory, Staging
from spectral_spark.files.formats import FULL_STATE_VERSION, STATE_VERSION
from spectral_spark.files.safe_reading import damaged, reading
from spectral_spark.files.table_columns import checked_columns, numbers_of, paths_of
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.group_moments import DistinctParts, GroupStatistics
from spectral_spark.moments.leaf_moments import LeafMoments
from spectral_spark.moments.symmetric_packing import pair_count, triple_count
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree
from spectral_spark.tree.random_effects import VarianceComponents

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
    if state["level_squares"] is not None:
        staging.write_array(f"{prefix}level_squares", state["level_squares"])
    if groups is not None:
        _write_arrays(staging, f"{prefix}groups/", groups, _GROUP)
        if groups.distinct is not None:
            _write_arrays(staging, f"{prefix}groups/distinct_", groups.distinct, _DISTINCT)
    staging.write_json(f"{prefix}state.json", {
        "version": state_version(state["half_samples"]),
        "third": _has_third(state["half_samples"]),
        "weighting": state["weighting"],
        "cap": state["cap"],
        "slots": [slot if isinstance(slot, str) else list(slot) for slot in state["slots"]],
        "sources": list(state["sources"]),
        "dropped": state["dropped"],
        "pairs": state["level_squares"] is not None,
        **({} if state["components"] is None else {"components": asdict(state["components"])}),
        "basis": basis.fingerprint,
        "vocabulary": basis.vocabulary_fingerprint,
        "groups": None if groups is None else {
            "paths": [list(path) for path in groups.paths],
            "by_length": groups.by_length,
            "distinct": groups.distinct is not None,
        },
    })


def state_version(halves: tuple[LeafMoments, LeafMoments]) -> int:
    """The version of the format that a state with these half samples needs."""
    return FULL_STATE_VERSION if _has_third(halves) else STATE_VERSION


def _has_third(halves: tuple[LeafMoments, LeafMoments]) -> bool:
    return halves[0].third.shape[1] > 0


def read_fields(saved: SavedDirectory, prefix: str) -> dict[str, Any]:
    """Read what :func:`write_fields` wrote. Parts that are missing or do not fit together are refused."""
    where = f"{saved.path}/{prefix}state.json"
    about = saved.read_object(f"{prefix}state.json")
    if not isinstance(about.get("version"), int):
        raise damaged(where, "it does not describe a moment state")
    if about["version"] > STATE_VERSION:
        raise FormatError(f"'{saved.path}' holds moments of format {about['version']}, and this version reads up to "
                          f"format {STATE_VERSION}; upgrade spectral_spark")
    with reading(where):
        _check_about(about, where)
        state = _read(saved, prefix, about)
        _check(state, about, saved.path)
        _check_groups(state["groups"], state["basis"].size, f"{saved.path}/{prefix}groups")
    return state


def _check_about(about: Mapping[str, Any], where: str) -> None:
    expected = {"weighting": str, "slots": list, "sources": list, "dropped": int, "basis": str, "vocabulary": str}
    for name, kind in expected.items():
        if not isinstance(about.get(name), kind):
            raise damaged(where, f"'{name}' is missing or of another kind")
    if not all(isinstance(source, str) for source in about["sources"]):
        raise damaged(where, "'sources' holds something other than names")
    if not isinstance(about.get("groups"), dict | None):
        raise damaged(where, "'groups' is not an object")


def _read(saved: SavedDirectory, prefix: str, about: Mapping[str, Any]) -> dict[str, Any]:
    where = f"{saved.path}/{prefix}tree"
    table = checked_columns(saved.read_table(f"{prefix}tree"), ("path", "documents", "tokens", "tokens_squared"), where)
    paths = paths_of(table, where)
    tree = DocumentTree.from_paths(paths)
    if list(tree.paths) != paths:
        raise FormatError(f"'{saved.path}/{prefix}tree': nodes are missing or out of order; the directory is damaged")
    counts = [name for name in table.column_names if name != "path"]
    halves = [
        LeafMoments(**{field: saved.read_numbers(f"{prefix}half_{name}/{field}", 2) for field in _LEAF})
        for name in "ab"
    ]
    return {
        "basis": Basis.read_from(saved, f"{prefix}basis/"),
        "weighting": about["weighting"],
        "cap": about["cap"],
        "slots": tuple(slot if isinstance(slot, str) else tuple(slot) for slot in about["slots"]),
        "half_samples": (halves[0], halves[1]),
        "census": Census(tree, **{name: numbers_of(table, name, where) for name in counts}),
        "node_first": saved.read_numbers(f"{prefix}node_first", 2),
        "noise": saved.read_numbers(f"{prefix}noise", 2),
        "groups": _read_groups(saved, prefix, about["groups"]),
        "sources": tuple(about["sources"]),
        "dropped": about["dropped"],
        "level_squares": saved.read_numbers(f"{prefix}level_squares", 2) if about.get("pairs") is True else None,
        "components": _read_components(about.get("components"), tree.depth, f"{saved.path}/{prefix}state.json"),
    }


def _read_components(about: Any, depth: int, where: str) -> VarianceComponents | None:
    if about is None:
        return None
    if not isinstance(about, dict) or about.keys() != {"levels", "documents", "words"}:
        raise damaged(where, "'components' does not describe variance components")
    numbers = [*about["levels"], about["documents"], about["words"]]
    if len(numbers) != depth + 2 or not all(isinstance(x, float) and 0 <= x < float("inf") for x in numbers):
        raise damaged(where, "'components' holds something other than one variance per level")
    return VarianceComponents(tuple(about["levels"]), about["documents"], about["words"])


def _read_groups(saved: SavedDirectory, prefix: str, about: dict[str, Any] | None) -> GroupStatistics | None:
    if about is None:
        return None
    distinct = None
    if about["distinct"]:
        distinct = DistinctParts(**{
            name: saved.read_numbers(f"{prefix}groups/distinct_{name}", 2 if name == "square" else 1)
            for name in _DISTINCT
        })
    arrays = {name: saved.read_numbers(f"{prefix}groups/{name}", 2) for name in _GROUP}
    paths = tuple(tuple(path) for path in about["paths"])
    if not isinstance(about["by_length"], bool) or not all(isinstance(name, str) for path in paths for name in path):
        raise damaged(f"{saved.path}/{prefix}state.json", "'groups' does not describe groups")
    return GroupStatistics(paths, about["by_length"], **arrays, distinct=distinct)


def _check(state: Mapping[str, Any], about: Mapping[str, Any], path: str) -> None:
    basis: Basis = state["basis"]
    if about["basis"] != basis.fingerprint or about["vocabulary"] != basis.vocabulary_fingerprint:
        raise FormatError(f"'{path}': the basis stored beside the moments is not the one they were collected in; "
                          "restore the directory from a copy")
    d, p, slots, nodes = basis.vocab_size, basis.size, len(state["slots"]), len(state["census"].tree)
    triples = 0 if about.get("third") is False else triple_count(p)
    expected = {"totals": (slots, 3), "words": (slots, d), "first": (slots, p), "second": (slots, pair_count(p)),
                "third": (slots, triples)}
    for half in state["half_samples"]:
        found = {name: half.arrays()[name].shape for name in expected}
        if found != expected or state["node_first"].shape != (nodes, p) or state["noise"].shape[1] != 2:
            raise FormatError(f"'{path}': moments of shapes {found}, expected {expected}; the directory is damaged")
    squares, levels = state["level_squares"], state["census"].tree.depth + 1
    if squares is not None and squares.shape != (levels, pair_count(p)):
        raise FormatError(f"'{path}': level_squares has shape {squares.shape}, expected {(levels, pair_count(p))}; the "
                          "directory is damaged")


def _check_groups(groups: GroupStatistics | None, p: int, where: str) -> None:
    if groups is None:
        return
    count = len(groups.paths)
    expected: dict[str, tuple[int, ...]] = {
        "counts": (count, 4), "first": (count, p), "second": (count, pair_count(p))
    }
    found = {name: getattr(groups, name).shape for name in expected}
    if groups.distinct is not None:
        triples = (triple_count(p),)
        more = {"square": (count, pair_count(p)), "self_first": triples, "self_mixed": triples, "factor": (count,)}
        expected |= more
        found |= {name: getattr(groups.distinct, name).shape for name in more}
    if found != expected:
        raise damaged(where, f"it holds arrays of shapes {found}, expected {expected}")


def _write_arrays(staging: Staging, prefix: str, holder: object, names: list[str]) -> None:
    for name in names:
        staging.write_array(f"{prefix}{name}", getattr(holder, name))

"""``taxonomy.json`` of a model: its topics folded into a tree, beside the files that the manifest lists.

People may rename a node in it; everything else has to stay as ``spectral-spark taxonomy`` wrote it. What is read is not
trusted: every level must hold every topic once, and texts have a largest size and are shown as plain text.
"""

import json
from collections.abc import Mapping
from typing import Any

from pyarrow import fs

from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.directories import read_file
from spectral_spark.files.labels_file import LONGEST_LABEL
from spectral_spark.files.safe_reading import parse_json

TAXONOMY_JSON = "taxonomy.json"
TAXONOMY_VERSION = 1
_LARGEST_FILE = 16 << 20
_MOST_WORDS = 100


def taxonomy_text(taxonomy: Mapping[str, Any]) -> str:
    """The file of a taxonomy, one node per line."""
    head = {key: value for key, value in taxonomy.items() if key != "nodes"}
    lines = ",\n  ".join(json.dumps(node, ensure_ascii=False, allow_nan=False) for node in taxonomy["nodes"])
    text = json.dumps({"version": TAXONOMY_VERSION, **head}, ensure_ascii=False, allow_nan=False)
    return f'{text[:-1]}, "nodes": [\n  {lines}\n]}}\n'


def read_taxonomy(filesystem: fs.FileSystem, directory: str, k: int) -> dict[str, Any] | None:
    """The taxonomy in a model's directory; None if it has none."""
    where = f"{directory}/{TAXONOMY_JSON}"
    info = filesystem.get_file_info(where)
    if info.type == fs.FileType.NotFound:
        return None
    if info.type != fs.FileType.File or (info.size or 0) > _LARGEST_FILE:
        raise _wrong(where, "it is not a file of that kind")
    try:
        value = parse_json(read_file(filesystem, where), where)
    except FormatError:
        raise _wrong(where, "it is not JSON") from None
    return checked_taxonomy(value, where, k)


def checked_taxonomy(value: Any, where: str, k: int) -> dict[str, Any]:
    """A taxonomy of k topics, if the value is one."""
    if not isinstance(value, dict) or value.get("version") != TAXONOMY_VERSION:
        raise _wrong(where, f"it is not of version {TAXONOMY_VERSION}")
    levels, nodes, kept = value.get("levels"), value.get("nodes"), value.get("information")
    if not isinstance(levels, list) or not _whole_numbers(levels, 2, k - 1) or levels != sorted(set(levels)):
        raise _wrong(where, "its levels are not growing numbers of nodes")
    if not isinstance(kept, list) or len(kept) != len(levels) or not all(map(_is_share, kept)):
        raise _wrong(where, "its 'information' does not go with its levels")
    if not isinstance(nodes, list) or len(nodes) != sum(levels):
        raise _wrong(where, f"it does not have the {sum(levels)} nodes of its levels")
    checked = [_node(node, at, where, k) for at, node in enumerate(nodes)]
    for depth, size in enumerate(levels):
        level = [node for node in checked if node["level"] == depth]
        if len(level) != size or sorted(topic for node in level for topic in node["topics"]) != list(range(k)):
            raise _wrong(where, f"level {depth} does not hold each of the {k} topics once")
    for node in checked:
        _check_parent(node, checked, where)
    return {"levels": levels, "information": [float(share) for share in kept], "nodes": checked}


def _node(node: Any, at: int, where: str, k: int) -> dict[str, Any]:
    if not isinstance(node, dict) or not _whole_numbers(node.get("topics"), 0, k - 1) or not _is_share(
        node.get("share")
    ) or not _whole_numbers([node.get("level")], 0, k):
        raise _wrong(where, f"node {at} is of another form")
    label, words, parent = node.get("label"), node.get("words"), node.get("parent")
    if not isinstance(label, str) or not 0 < len(" ".join(label.split())) <= LONGEST_LABEL:
        raise _wrong(where, f"the label of node {at} is not a text of at most {LONGEST_LABEL} characters")
    if not isinstance(words, list) or len(words) > _MOST_WORDS or not all(isinstance(word, str) for word in words):
        raise _wrong(where, f"the words of node {at} are not a list of words")
    if parent is not None and not _whole_numbers([parent], 0, at - 1):
        raise _wrong(where, f"the parent of node {at} does not come before it")
    return {
        "level": node["level"], "parent": parent, "topics": list(node["topics"]), "share": float(node["share"]),
        "label": " ".join(label.split()), "words": list(words),
    }


def _check_parent(node: dict[str, Any], nodes: list[dict[str, Any]], where: str) -> None:
    parent = None if node["parent"] is None else nodes[node["parent"]]
    fits = node["level"] == 0 if parent is None else (
        parent["level"] == node["level"] - 1 and set(node["topics"]) <= set(parent["topics"]))
    if not fits:
        raise _wrong(where, "a node is not part of the one above it")


def _whole_numbers(values: Any, least: int, most: int) -> bool:
    return isinstance(values, list) and bool(values) and all(
        isinstance(value, int) and not isinstance(value, bool) and least <= value <= most for value in values)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e-9 <= value <= 1 + 1e-6


def _wrong(where: str, why: str) -> InputError:
    return InputError(f"'{where}' is not the taxonomy of this model: {why}; correct it, or remove the file and make it "
                      "again with 'spectral-spark taxonomy MODEL --levels 10,30'")

"""Nodes of a document tree as people write them: ``region/town``, a list of names, or nothing for the root."""

from collections.abc import Sequence

from spectral_spark.data.value_types import nearest
from spectral_spark.errors import InputError

Path = tuple[str, ...]
SEPARATOR = "/"


def node_name(path: Sequence[str]) -> str:
    """The path as people write it; the root is ``/``."""
    return SEPARATOR.join(path) or SEPARATOR


def find_node(name: str | Sequence[str] | None, paths: Sequence[Path]) -> int:
    """The number of the node with that name; an unknown one is answered with the nearest that there is.

    Parameters
    ----------
    name : ``region/town``, or a list of names from the top-level group down. None, "" and "/" are the root.
    paths : the nodes of the tree.

    Examples
    --------
    >>> find_node("coast/ash", [(), ("coast",), ("coast", "ash")])
    2
    """
    known = {path: node for node, path in enumerate(paths)}
    written = {node_name(path): node for path, node in known.items()}
    if name is None or name in ("", SEPARATOR):
        return known[()]
    if isinstance(name, str):
        text = name.strip(SEPARATOR) if name not in written else name
        if text in written:
            return written[text]
    else:
        text = SEPARATOR.join(map(str, name))
        if tuple(map(str, name)) in known:
            return known[tuple(map(str, name))]
    children = ", ".join(sorted(path[0] for path in known if len(path) == 1)[:5])
    hint = nearest(text, written) or (f"; the top-level groups are {children}, …" if children else "")
    raise InputError(f"the document tree has no node '{text}'{hint}")

"""The nodes of a tree against a walk over all prefixes, one path at a time."""

import numpy as np
import pytest

from spectral_spark.errors import InputError
from spectral_spark.tree.nodes import DocumentTree

NAMES = np.array(["a", "b", "ab", "", "é", "\uffff", "\U0001f600"])


def _walked(paths: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return sorted({(), *(path[:depth] for path in paths for depth in range(len(path) + 1))})


@pytest.mark.parametrize("seed", range(20))
def test_nodes_are_those_of_all_prefixes_in_their_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    paths = [tuple(map(str, rng.choice(NAMES, rng.integers(0, 5)))) for _ in range(rng.integers(0, 60))]
    tree, nodes = DocumentTree.with_nodes(paths)
    expected = _walked(paths)
    assert list(tree.paths) == expected
    assert tree.level.tolist() == [len(path) for path in expected]
    assert tree.parent.tolist() == [expected.index(path[:-1]) if path else -1 for path in expected]
    assert nodes.tolist() == [expected.index(path) for path in paths]
    assert (tree.parent.dtype, tree.level.dtype, nodes.dtype) == (np.int32, np.int32, np.int32)


@pytest.mark.parametrize(("wrong", "message"), [
    ("ab", "is a string"), (None, "has a null"), (("a", None), "has a null"), (("a", 1), "is not a string"),
    (("a", ["b"]), "is not a string"),
])
def test_a_wrong_path_among_right_ones_is_named(wrong: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DocumentTree.with_nodes([("a", "b"), wrong, ("c",)])  # type: ignore[list-item]


@pytest.mark.parametrize("layers", [2, 3, 4])
def test_truncated_moves_every_node_to_the_deepest_that_remains(layers: int) -> None:
    tree = DocumentTree.from_paths([("a", "b", "c"), ("a", "d"), ("e",)])
    smaller, new_node = tree.truncated(layers)
    assert [smaller.paths[node] for node in new_node] == [path[: layers - 2] for path in tree.paths]

"""The document tree and its census."""

import numpy as np
import pytest

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.tree import Census, DocumentTree

PATHS = [("b",), ("a", "x"), ("a", "y", "deep"), (), ("b",)]


def test_ancestors_are_added_and_parents_come_first() -> None:
    tree = DocumentTree.from_paths(PATHS)
    assert tree.paths == ((), ("a",), ("a", "x"), ("a", "y"), ("a", "y", "deep"), ("b",))
    assert tree.parent.tolist() == [-1, 0, 1, 1, 3, 0]
    assert tree.level.tolist() == [0, 1, 2, 2, 3, 1]
    assert tree.depth == 3
    assert tree == DocumentTree.from_paths(reversed(PATHS))
    assert tree.assign(PATHS).tolist() == [5, 2, 4, 0, 5]


def test_a_tree_without_groups_is_the_root() -> None:
    tree = DocumentTree.from_paths([])
    assert tree.paths == ((),)
    assert tree.depth == 0
    assert tree.sum_below(np.array([3.0])).tolist() == [3.0]


def test_names_that_look_alike_stay_apart() -> None:
    tree = DocumentTree.from_paths([("a/b",), ("a", "b"), ("",), ("ä",), ("a\u0308",)])
    assert len(tree) == 7


def test_fewer_layers_move_documents_up() -> None:
    tree = DocumentTree.from_paths(PATHS)
    flat, new = tree.truncated(2)
    assert len(flat) == 1
    assert new.tolist() == [0] * 6
    groups, new = tree.truncated(3)
    assert groups.paths == ((), ("a",), ("b",))
    assert new.tolist() == [0, 1, 1, 1, 1, 2]
    assert tree.truncated("all")[0] is tree
    assert tree.truncated(99)[0] == tree
    for wrong in (1, 0, "some", 2.5):
        with pytest.raises(SettingsError, match="layers"):
            tree.truncated(wrong)  # type: ignore[arg-type]


def test_trees_grow_together() -> None:
    one, other = DocumentTree.from_paths([("a",)]), DocumentTree.from_paths([("a", "x"), ("0",)])
    tree, mine, theirs = one.union(other)
    assert tree.paths == ((), ("0",), ("a",), ("a", "x"))
    assert [tree.paths[i] for i in mine] == list(one.paths)
    assert [tree.paths[i] for i in theirs] == list(other.paths)


@pytest.mark.parametrize(
    ("path", "message"), [("abc", "is a string"), (None, "null"), (("a", None), "null"), ((3,), "not a string")]
)
def test_paths_that_are_none_are_refused(path: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DocumentTree.from_paths([path])  # type: ignore[list-item]


def test_an_unknown_node_is_named() -> None:
    with pytest.raises(InputError, match="no node 'a/z' among its 6"):
        DocumentTree.from_paths(PATHS).index(("a", "z"))


def test_a_census_counts_subtrees_and_living_children() -> None:
    tree = DocumentTree.from_paths(PATHS)
    census = Census.count(tree, np.array([2, 2, 4, 0]), np.array([3, 5, 7, 4]))
    assert census.documents.tolist() == [1, 0, 2, 0, 1, 0]
    assert census.documents_below.tolist() == [4, 3, 2, 1, 1, 0]
    assert census.tokens_below.tolist() == [19, 15, 8, 7, 7, 0]
    assert census.tokens_squared_below[0] == 9 + 25 + 49 + 16
    assert census.children.tolist() == [2, 2, 2, 1, 1, 0]  # 'b' has no documents left


def test_a_census_of_fewer_layers_and_of_two_days() -> None:
    tree = DocumentTree.from_paths(PATHS)
    nodes, lengths = np.array([2, 2, 4, 0, 5]), np.array([3, 5, 7, 4, 9])
    census = Census.count(tree, nodes, lengths)
    small, new = census.truncated(3)
    assert small == Census.count(small.tree, new[nodes], lengths)
    days = [Census.count(tree, nodes[part], lengths[part]) for part in (slice(0, 2), slice(2, 5))]
    assert days[0] + days[1] == census
    assert census - days[0] == days[1]
    with pytest.raises(InputError, match="2 documents to remove from 'a/x', which has 0"):
        days[1] - days[0]


def test_a_census_that_makes_no_sense_is_refused() -> None:
    tree = DocumentTree.from_paths([("a",)])
    with pytest.raises(InputError, match=r"shape \(3,\)"):
        Census(tree, np.ones(3), np.ones(2), np.ones(2))
    with pytest.raises(InputError, match="nan tokens at node 'a'"):
        Census(tree, np.ones(2), np.array([1.0, np.nan]), np.ones(2))
    with pytest.raises(InputError, match="nodes 0 to 2 of a tree of 2"):
        Census.count(tree, np.array([0, 2]), np.array([3, 3]))

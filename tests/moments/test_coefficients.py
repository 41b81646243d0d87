"""HDP coefficients against exact moments of nested Dirichlet draws, closed forms and the recursion from the leaves."""

import numpy as np
import pytest

from spectral_spark.errors import SettingsError
from spectral_spark.moments.coefficients import (
    HDPCoefficients,
    hdp_coefficients,
    level_coefficients,
    node_coefficients,
)
from spectral_spark.tree.nodes import DocumentTree

DEPTHS = [[0.7], [2.0, 5.0], [0.3, 4.0, 9.0], [1.5, 0.2, 30.0, 3.0]]


def drawn(moments: list[np.ndarray], g: float) -> list[np.ndarray]:
    """E π, E π⊗π, E π⊗π⊗π of π ~ Dirichlet(g ρ), given those of the random ρ, entry by entry.

    E[π_i π_j π_l | ρ] is a product of gρ_i, gρ_j + [i=j], gρ_l + [l=i] + [l=j] over g(g+1)(g+2).
    """
    one, two, three = moments
    k = len(one)
    second, third = np.zeros((k, k)), np.zeros((k, k, k))
    for i in range(k):
        for j in range(k):
            second[i, j] = (g * g * two[i, j] + g * (i == j) * one[i]) / (g * (g + 1))
            for l in range(k):
                same = (l == i) + (l == j)
                terms = g**3 * three[i, j, l] + g**2 * (i == j) * two[i, l] + g**2 * same * two[i, j]
                terms += g * (i == j) * same * one[i]
                third[i, j, l] = terms / (g * (g + 1) * (g + 2))
    return [one, second, third]


def leaf_moments(root: np.ndarray, path: list[float]) -> list[np.ndarray]:
    moments = [root, np.multiply.outer(root, root), np.multiply.outer(np.multiply.outer(root, root), root)]
    for g in path:
        moments = drawn(moments, g)
    return moments


def sym3(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return sum(np.einsum(f"{places}->ijl", matrix, vector) for places in ("ij,l", "il,j", "jl,i"))


def path_coefficients(weights: np.ndarray, paths: list[list[float]]) -> HDPCoefficients:
    """Closed forms for documents with paths of their own: C2 and C4 are averages over documents."""
    shares = weights / weights.sum()
    c2 = float(shares @ [np.prod([g / (g + 1) for g in path]) for path in paths])
    c4 = float(shares @ [np.prod([g * g / ((g + 1) * (g + 2)) for g in path]) for path in paths])
    return HDPCoefficients(c2, 1 - c2, c4, (c2 - c4) / (2 * (1 - c2)), 1 - 1.5 * c2 + 0.5 * c4)


def check_identity(c: HDPCoefficients, root: np.ndarray, second: np.ndarray, third: np.ndarray) -> None:
    k = len(root)
    diagonal = np.zeros((k, k, k))
    diagonal[range(k), range(k), range(k)] = root
    s2 = c.c3 * np.diag(root)
    cube = np.multiply.outer(np.multiply.outer(root, root), root)
    assert np.abs(c.c2 * np.outer(root, root) + s2 - second).max() < 1e-15
    expected = c.c4 * cube + c.c5 * sym3(s2, root) + c.c6 * diagonal
    assert np.abs(expected - third).max() < 1e-15


@pytest.mark.parametrize("path", DEPTHS)
def test_exact_moments_of_nested_draws(path: list[float]) -> None:
    root = np.array([0.5, 0.3, 0.2])
    _, second, third = leaf_moments(root, path)
    check_identity(hdp_coefficients(path), root, second, third)


def test_exact_moments_at_unequal_depth() -> None:
    root, weights = np.array([0.6, 0.1, 0.3]), np.array([0.5, 0.2, 0.3])
    leaves = [leaf_moments(root, path) for path in DEPTHS[:3]]
    second, third = (sum(w * leaf[r] for w, leaf in zip(weights, leaves, strict=True)) for r in (1, 2))
    check_identity(path_coefficients(weights, DEPTHS[:3]), root, second, third)
    tree = DocumentTree.from_paths([("a",), ("b", "c")])
    by_node = node_coefficients(
        tree, np.array([1.0, 2.0, 0.3, 4.0]), np.array([0.7, 5.0, 1.0, 9.0]), np.array([0.5, 0.2, 0.0, 0.3]) * 7.0
    )
    check_identity(by_node, root, second, third)


@pytest.mark.parametrize("path", DEPTHS)
def test_closed_forms(path: list[float]) -> None:
    g, c = np.array(path), hdp_coefficients(path)
    c2, c4 = np.prod(g / (g + 1)), np.prod(g * g / ((g + 1) * (g + 2)))
    expected = [c2, 1 - c2, c4, (c2 - c4) / (2 * (1 - c2)), 1 - 1.5 * c2 + 0.5 * c4]
    assert np.allclose([c.c2, c.c3, c.c4, c.c5, c.c6], expected, rtol=1e-13)


@pytest.mark.parametrize("path", DEPTHS)
def test_recursion_from_the_leaves(path: list[float]) -> None:
    """The paper goes from the documents up: coefficients of layer l from those of layer l + 1 and γ of that layer."""
    c2, c3, c4, mixed, c6 = 1.0, 0.0, 1.0, 0.0, 0.0
    for g in reversed(path):
        third = (g + 1) * (g + 2)
        c2, c3, c4, mixed, c6 = (
            c2 * g / (g + 1),
            c3 + c2 / (g + 1),
            c4 * g * g / third,
            mixed * g / (g + 1) + c4 * g / third,
            c6 + 3 * mixed / (g + 1) + 2 * c4 / third,
        )
    c = hdp_coefficients(path)
    assert np.allclose([c.c2, c.c3, c.c4, c.c3 * c.c5, c.c6], [c2, c3, c4, mixed, c6], rtol=1e-14)


def test_coefficients_do_not_depend_on_the_order_of_layers() -> None:
    one, other = hdp_coefficients([1.0, 2.0, 9.0]), hdp_coefficients([9.0, 1.0, 2.0])
    assert np.allclose(list(vars(one).values()), list(vars(other).values()), rtol=1e-14)
    assert np.isclose(one.kappa, one.c6 / one.c3**1.5)


def test_large_concentrations_keep_their_digits() -> None:
    c = hdp_coefficients([1e9])
    assert np.isclose(c.c6, 2e-18, rtol=1e-8)  # 2/((g+1)(g+2)); the closed form in C2 and C4 gives zero
    assert np.isfinite(list(vars(hdp_coefficients([1e300, 1e-300])).values())).all()


def test_levels_and_nodes_of_a_tree_agree_with_paths() -> None:
    tree = DocumentTree.from_paths([("a", "x"), ("a", "y"), ("b",)])
    g, weights = [2.0, 5.0, 0.7], np.array([0.1, 0.0, 0.4, 0.2, 0.3])
    paths = [[0.7], [2.0, 0.7], [2.0, 5.0, 0.7], [2.0, 5.0, 0.7], [2.0, 0.7]]
    expected = path_coefficients(weights, paths)
    by_level = level_coefficients(tree, g, weights * 11)
    assert np.allclose(list(vars(by_level).values()), list(vars(expected).values()), rtol=1e-13)
    own = np.array([9.0, 1.0, 2.0, 3.0, 4.0])
    by_node = node_coefficients(tree, own, own / 2, weights)
    paths = [[4.5], [1.0, 0.5], [1.0, 2.0, 1.0], [1.0, 3.0, 1.5], [4.0, 2.0]]
    assert np.allclose(list(vars(by_node).values()), list(vars(path_coefficients(weights, paths)).values()), rtol=1e-13)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_concentrations_must_be_positive(wrong: float) -> None:
    with pytest.raises(SettingsError, match=f"concentration {wrong}"):
        hdp_coefficients([1.0, wrong])


def test_the_number_of_concentrations_must_fit() -> None:
    tree = DocumentTree.from_paths([("a",)])
    with pytest.raises(SettingsError, match="1 levels of groups, so give 2 numbers"):
        level_coefficients(tree, [1.0, 2.0, 3.0], np.ones(2))
    with pytest.raises(SettingsError, match="list of positive numbers"):
        hdp_coefficients([])
    with pytest.raises(SettingsError, match="no node has documents"):
        level_coefficients(tree, [1.0, 2.0], np.zeros(2))

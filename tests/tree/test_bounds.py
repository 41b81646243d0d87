"""How often the bounds on moments are broken on drawn trees."""

import numpy as np
import pytest

from spectral_spark.moments.coefficients import hdp_coefficients
from spectral_spark.tree import Census, DocumentTree, moment_bound, node_weights, tensor_bound
from spectral_spark.tree.bounds import independent_groups, third_tensor_bound

D, K, LENGTH, DELTA, TRIALS = 12, 4, 20, 0.2, 40


class Errors:
    """Distances of the measured moments of one drawn tree to the true ones: given the groups, and to the root's."""

    def __init__(self, sizes: list[int], g: tuple[float, float], seed: int) -> None:
        rng = np.random.default_rng(seed)
        topics, root = rng.dirichlet(np.full(D, 0.1), K), rng.dirichlet(np.ones(K))
        tree = DocumentTree.from_paths([(f"{i:02}",) for i in range(len(sizes))])
        nodes = np.repeat(np.arange(1, len(sizes) + 1), sizes)
        census = Census.count(tree, nodes, np.full(len(nodes), LENGTH))
        self.weights = node_weights(census, "tokens")
        self.realised = self.weights.realised_sample_size(census)
        self.groups = independent_groups(census, self.weights)
        groups = rng.dirichlet(g[0] * root, len(sizes))
        shares = rng.gamma(np.maximum(g[1] * groups[nodes - 1], 1e-9)) + 1e-300
        words = (shares / shares.sum(axis=1, keepdims=True)) @ topics
        counts = rng.multinomial(LENGTH, words / words.sum(axis=1, keepdims=True)).astype(float)
        self.c = hdp_coefficients(g[1:])
        found = moments(counts)
        given = expected(topics, groups, np.array(sizes) / len(nodes), self.c)
        self.given = [float(np.linalg.norm(a - b)) for a, b in zip(found, given, strict=True)]
        self.root = float(np.linalg.norm(found[0] - root @ topics))
        self.tensors = [
            float(np.linalg.norm(a - b))
            for a, b in zip(corrected(found, self.c), corrected(given, self.c), strict=True)
        ]


def moments(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unbiased moments of documents of the same length; Frobenius norms bound the others."""
    m, n = LENGTH, len(counts)
    total, second = counts.sum(axis=0), counts.T @ counts
    third = np.einsum("ni,nj,nl->ijl", counts, counts, counts)
    placed = np.einsum("ij,il->ijl", np.eye(D), second)
    third -= placed + placed.transpose(0, 2, 1).transpose(1, 0, 2) + placed.transpose(2, 1, 0)
    third[np.arange(D), np.arange(D), np.arange(D)] += 2.0 * total
    return total / (n * m), (second - np.diag(total)) / (n * m * (m - 1)), third / (n * m * (m - 1) * (m - 2))


def expected(topics: np.ndarray, groups: np.ndarray, shares: np.ndarray, c: object) -> tuple[np.ndarray, ...]:
    """The moments given the groups' proportions: 2-layer moments around each group, averaged."""
    parts = []
    for pi in groups:
        mean, square = pi @ topics, (topics.T * pi) @ topics
        s2 = c.c3 * square  # type: ignore[attr-defined]
        cube = np.einsum("k,ki,kj,kl->ijl", pi, topics, topics, topics)
        third = c.c4 * np.einsum("i,j,l->ijl", mean, mean, mean) + c.c6 * cube  # type: ignore[attr-defined]
        third += c.c5 * sym3(s2, mean)  # type: ignore[attr-defined]
        parts.append((mean, s2 + c.c2 * np.outer(mean, mean), third))  # type: ignore[attr-defined]
    return tuple(sum(w * part[r] for w, part in zip(shares, parts, strict=True)) for r in range(3))  # type: ignore[misc]


def sym3(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    outer = np.einsum("ij,l->ijl", matrix, vector)
    return outer + outer.transpose(0, 2, 1) + outer.transpose(2, 1, 0)


def corrected(found: tuple[np.ndarray, ...], c: object) -> tuple[np.ndarray, np.ndarray]:
    first, second, third = found
    s2 = second - c.c2 * np.outer(first, first)  # type: ignore[attr-defined]
    s3 = third - c.c4 * np.einsum("i,j,l->ijl", first, first, first)  # type: ignore[attr-defined]
    return s2, s3 - c.c5 * sym3(s2, first)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("sizes", "g"), [([200, 200], (1.0, 1.0)), ([150, 60, 30, 10], (3.0, 1.0)),
                                          ([10] * 30, (1.0, 2.0))])
def test_bounds_are_broken_no_more_often_than_promised(sizes: list[int], g: tuple[float, float]) -> None:
    drawn = [Errors(sizes, g, seed) for seed in range(TRIALS)]
    n, groups, c = drawn[0].realised, drawn[0].groups, drawn[0].c
    assert n == pytest.approx(sum(sizes))
    for order in range(3):
        assert np.mean([one.given[order] > moment_bound(n, DELTA) for one in drawn]) <= DELTA
    assert np.mean([one.tensors[0] > tensor_bound(n, DELTA) for one in drawn]) <= DELTA
    assert np.mean([one.tensors[1] > third_tensor_bound(n, c.c2, c.c4, c.c5, DELTA) for one in drawn]) <= DELTA
    assert np.mean([one.root > moment_bound(groups, DELTA) for one in drawn]) <= DELTA


def test_the_bound_given_the_groups_is_false_for_the_root() -> None:
    drawn = [Errors([400, 400], (1.0, 1.0), seed) for seed in range(TRIALS)]
    broken = np.mean([one.root > moment_bound(one.realised, DELTA) for one in drawn])
    assert broken > 0.6
    assert drawn[0].groups == pytest.approx(2.0)


def test_documents_at_the_root_are_independent_units() -> None:
    tree = DocumentTree.from_paths([("a",), ("b",)])
    census = Census.count(tree, np.array([0, 0, 1, 1, 2]), np.full(5, 4))
    weights = node_weights(census, "tokens")
    assert independent_groups(census, weights) == pytest.approx(1.0 / (2 * 0.04 + 0.16 + 0.04))

"""How often the intervals of topic shares and differences cover the truth, on trees drawn from the model.

    python benchmarks/interval_coverage.py --repetitions 200

Every repetition draws proportions of the nodes, documents around them and words from known topics, estimates node
proportions as a fit does (given the topics), and computes 90% intervals. Balanced and unbalanced trees, two levels.
"""

import argparse
import json

import numpy as np

from spectral_spark.answers.share_estimates import GroupShares, differences, group_shares
from spectral_spark.answers.share_kernel import ShareKernel
from spectral_spark.ingest.simulate import SimulatedCorpus, random_topics, simulate_hdp
from spectral_spark.refine.backend import load_backend
from spectral_spark.refine.fixed_point import FIXED_POINT
from spectral_spark.refine.gibbs import prior_steps
from spectral_spark.refine.node_priors import Hierarchy, update_hierarchy
from spectral_spark.refine.posterior_means import word_likelihood

BALANCED = {"a": {"x": 60, "y": 60}, "b": {"x": 60, "y": 60}}
UNBALANCED = {"a": {"x": 400, "y": 12}, "b": {"x": 100, "y": 30}}
LEVEL, LEAST = 0.9, 0.01     # topics with a smaller true share in the corpus are not counted


def node_priors(corpus: SimulatedCorpus, concentrations: tuple[float, ...], seed: int, rounds: int = 60) -> np.ndarray:
    """Proportions of every node as the Gibbs sweeps of a fit learn them, under known topics and concentrations."""
    tree, k, batch = corpus.tree, corpus.topics.shape[1], corpus.batch
    hierarchy = Hierarchy(np.full((len(tree), k), 1.0 / k), np.array(concentrations))
    words = np.repeat(batch.terms, batch.counts.astype(np.int64)).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(batch.lengths)]).astype(np.int64)
    drawn, likelihood = np.zeros(len(words), np.int32), word_likelihood(corpus.topics)
    states = np.random.SeedSequence(seed).generate_state(rounds, np.uint64)
    average = np.zeros((len(tree), k))
    for number in range(rounds):
        counts, tables = np.zeros(likelihood.shape, np.int64), np.zeros((len(tree), k), np.int64)
        load_backend().sweep(
            indptr, words, drawn, batch.nodes.astype(np.int32), np.ones(batch.n_documents, np.int64),
            prior_steps(hierarchy), likelihood, 0, batch.n_documents, states[number], number == 0, counts, tables,
        )
        hierarchy = update_hierarchy(
            hierarchy, tree.parent, tree.level, tables / FIXED_POINT, np.ones(len(tree)), learn=False,
            bounds=(1e-3, 1e3),
        )
        average += hierarchy.proportions if number >= rounds // 2 else 0.0
    return average / average.sum(axis=1, keepdims=True)


def estimated(corpus: SimulatedCorpus, prior: np.ndarray, concentration: float, seed: int) -> GroupShares:
    """Shares of all leaves of the tree."""
    leaves = np.flatnonzero(np.bincount(corpus.batch.nodes, minlength=len(corpus.tree)) > 0)
    groups = np.full((len(corpus.tree), 1), -1)
    groups[leaves, 0] = np.arange(len(leaves))
    kernel = ShareKernel(len(leaves), 200, seed)
    work = kernel.start({
        "topics": corpus.topics, "node_prior": prior, "concentration": np.array([concentration]), "groups": groups,
        "clusters": np.zeros(len(corpus.tree), np.int64),
    })
    work.add(corpus.batch)
    return group_shares(**work.arrays())


def repetition(tree: dict, seed: int, same: bool) -> dict[str, tuple[int, int]]:
    """Counts of (covered, all) intervals of shares and differences, and of (reported, all) differences."""
    k, concentrations = 8, (10.0, 1e6 if same else 20.0, 5.0)
    corpus = simulate_hdp(random_topics(300, k, seed), tree, concentrations, (20, 120), seed)
    prior = node_priors(corpus, (10.0, 20.0, 5.0), seed)
    shares = estimated(corpus, prior, concentrations[-1], seed)
    leaves = np.flatnonzero(np.bincount(corpus.batch.nodes, minlength=len(corpus.tree)) > 0)
    truth, counted = corpus.node_proportions[leaves], corpus.root_weights >= LEAST
    low, high = shares.intervals(LEVEL)
    covered = ((low <= truth) & (truth <= high))[:, counted]
    found = {f"share {'/'.join(corpus.tree.paths[leaf])}": (int(row.sum()), row.size)
             for leaf, row in zip(leaves, covered, strict=True)}
    first, second = np.array([0, 2]), np.array([1, 3])
    gaps = differences(shares.of(first), shares.of(second), LEVEL, overlapping=False)
    inside = (gaps.lower <= truth[first] - truth[second]) & (truth[first] - truth[second] <= gaps.upper)
    found["difference"] = (int(inside[:, counted].sum()), int(inside[:, counted].size))
    if same:
        found["reported"] = (int((gaps.p_value <= 1 - LEVEL)[:, counted].sum()), int(inside[:, counted].size))
        found["reported, adjusted"] = (int((gaps.q_value <= 1 - LEVEL)[:, counted].sum()), found["reported"][1])
    return found


def coverage(tree: dict, repetitions: int, *, same: bool = False, seed: int = 0) -> dict[str, float]:
    """Shares of covered intervals, and of reported differences."""
    total: dict[str, np.ndarray] = {}
    for number in range(repetitions):
        for name, counts in repetition(tree, seed + number, same).items():
            total[name] = total.get(name, np.zeros(2)) + counts
    return {name: round(float(hits / all_of_them), 4) for name, (hits, all_of_them) in total.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name, tree in (("balanced", BALANCED), ("unbalanced", UNBALANCED)):
        for same in (False, True):
            found = coverage(tree, given.repetitions, same=same, seed=given.seed)
            print(json.dumps({"tree": name, "differences": not same, **found}))


if __name__ == "__main__":
    main()

"""How often the intervals of topic shares and differences cover the truth, on trees drawn from the model.

    python benchmarks/interval_coverage.py --repetitions 200

Every repetition draws proportions of the nodes, documents around them and words from known topics, estimates node
proportions as a fit does (given the topics), and computes 90% intervals. Balanced and unbalanced trees of two levels,
and one of four. Every number is printed with its standard error.
"""

import argparse
import json

import numpy as np

from spectral_spark.answers.share_differences import differences
from spectral_spark.answers.share_estimates import GroupShares, group_shares
from spectral_spark.answers.share_kernel import ShareKernel
from spectral_spark.ingest.simulate import SimulatedCorpus, random_topics, simulate_hdp
from spectral_spark.refine.backend import load_backend
from spectral_spark.refine.fixed_point import FIXED_POINT
from spectral_spark.refine.gibbs import prior_steps
from spectral_spark.refine.node_priors import Hierarchy, update_hierarchy
from spectral_spark.refine.posterior_means import word_likelihood

BALANCED = {"a": {"x": 60, "y": 60}, "b": {"x": 60, "y": 60}}
UNBALANCED = {"a": {"x": 400, "y": 12}, "b": {"x": 100, "y": 30}}
DEEP = {"a": {"x": {"p": {"s": 80, "t": 25}, "q": {"s": 40, "t": 40}}}, "b": {"x": {"p": {"s": 15, "t": 200}}}}
TREES: dict[str, dict] = {"balanced": BALANCED, "unbalanced": UNBALANCED, "deep": DEEP}
TOPICS = 8
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
    leaves = leaves_of(corpus)
    groups = np.full((len(corpus.tree), 1), -1)
    groups[leaves, 0] = np.arange(len(leaves))
    work = ShareKernel(len(leaves), seed=seed).start({
        "topics": corpus.topics, "node_prior": prior, "concentration": np.array([concentration]), "groups": groups,
    })
    work.add(corpus.batch)
    return group_shares(work.arrays())


def leaves_of(corpus: SimulatedCorpus) -> np.ndarray:
    return np.flatnonzero(np.bincount(corpus.batch.nodes, minlength=len(corpus.tree)) > 0)


def repetition(tree: dict, seed: int, same: bool) -> dict[str, tuple[int, int]]:
    """Counts of (covered, all) intervals of shares and differences, and of (reported, all) differences."""
    above = tuple(10.0 for _ in range(depth(tree) - 1))
    corpus = simulate_hdp(random_topics(300, TOPICS, seed), tree, (*above, 1e6 if same else 20.0, 5.0), (20, 120), seed)
    prior = node_priors(corpus, (*above, 20.0, 5.0), seed)
    shares, leaves = estimated(corpus, prior, 5.0, seed), leaves_of(corpus)
    truth, counted = corpus.node_proportions[leaves], corpus.root_weights >= LEAST
    low, high = shares.intervals(LEVEL)
    covered = ((low <= truth) & (truth <= high))[:, counted]
    found = {f"share {'/'.join(corpus.tree.paths[leaf])}": (int(row.sum()), row.size)
             for leaf, row in zip(leaves, covered, strict=True)}
    first, second = siblings(corpus, leaves)
    gaps = differences(shares.of(first), shares.of(second), LEVEL, overlapping=False)
    inside = (gaps.lower <= truth[first] - truth[second]) & (truth[first] - truth[second] <= gaps.upper)
    found["difference"] = (int(inside[:, counted].sum()), int(inside[:, counted].size))
    if same:
        found["reported"] = (int((gaps.p_value <= 1 - LEVEL)[:, counted].sum()), int(inside[:, counted].size))
        found["reported, adjusted"] = (int((gaps.q_value <= 1 - LEVEL)[:, counted].sum()), found["reported"][1])
    return found


def depth(tree: dict | int) -> int:
    return 1 + max(map(depth, tree.values())) if isinstance(tree, dict) else 0


def siblings(corpus: SimulatedCorpus, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of the leaves that are the first and the second child of the same node."""
    parents = corpus.tree.parent[leaves]
    pairs = [np.flatnonzero(parents == parent)[:2] for parent in np.unique(parents)]
    return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])


def coverage(tree: dict, repetitions: int, *, same: bool = False, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Shares of covered intervals and of reported differences, each with its standard error.

    The topics of one corpus are not independent, so the error comes from the spread between repetitions.
    """
    drawn = [repetition(tree, seed + number, same) for number in range(repetitions)]
    found = {}
    for name in drawn[0]:
        hits, tried = np.array([counts[name] for counts in drawn], float).T
        share = hits.sum() / tried.sum()
        error = np.sqrt(((hits - share * tried) ** 2).sum()) / tried.sum()
        found[name] = (round(float(share), 4), round(float(error), 4))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trees", default=",".join(TREES), help=f"of {', '.join(TREES)}")
    given = parser.parse_args()
    for name in given.trees.split(","):
        for same in (False, True):
            found = coverage(TREES[name], given.repetitions, same=same, seed=given.seed)
            print(json.dumps({"tree": name, "differences": not same, **found}), flush=True)


if __name__ == "__main__":
    main()

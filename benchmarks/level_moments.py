"""Spectral topics without refinement from moments inside documents, across documents of a group, and from both.

    python benchmarks/level_moments.py --corpus CORPUS [--k 50 --depth 2 --documents 150000]

Pairs and triples of *different* documents of a bottom group never hold the same word twice because a document repeats
itself (formulas §12). Their S2 and S3, solved with concentrations of their own, are averaged with those inside
documents, each divided by its C3 and C6 so that both estimate the same tensors. Losses are those of validation
documents, with the best total document prior; everything runs in one process. Rows are added to
``results/level-moments-NAME.json``.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, context, markdown_table, merge_rows
from local_fit import LocalCorpus, Validation, collect, read_corpus
from threadpoolctl import threadpool_limits

from spectral_spark.errors import InputError
from spectral_spark.moments.coefficients import hdp_coefficients
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.solve.reconstruct import first_order_weights, lifted_topics, smoothed_topics
from spectral_spark.solve.solvers import solve_tensor
from spectral_spark.solve.symmetric_tensor import sym3, transformed
from spectral_spark.solve.whitening import whiten

SHARES = (0.0, 0.05, 0.15, 0.3, 0.6, 1.0)       # of the moments across documents
TOTALS = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, eq=False)
class Tensors:
    """Φ diag(π) Φᵀ and Σ π φ⊗φ⊗φ in the basis."""

    second: np.ndarray
    third: np.ndarray

    def mixed(self, other: "Tensors", share: float) -> "Tensors":
        return Tensors((1.0 - share) * self.second + share * other.second,
                       (1.0 - share) * self.third + share * other.third)


def tensors(first: np.ndarray, second: np.ndarray, third: np.ndarray, g: float) -> Tensors:
    """From the three moments of units (documents, or groups) that are drawn around the root with concentration g."""
    c = hdp_coefficients([g])
    own = second - c.c2 * np.outer(first, first)
    cube = np.multiply.outer(np.outer(first, first), first)
    return Tensors(own / c.c3, (third - c.c4 * cube - c.c5 * sym3(own, first)) / c.c6)


def loss_of(found: Tensors, state: MomentState, k: int, validation: Validation) -> float | None:
    """Of the topics of these tensors; None where fewer than k eigenvalues are positive."""
    try:
        whitening = whiten(found.second, k)
    except InputError:
        return None
    vectors = solve_tensor(transformed(found.third, whitening.matrix), "polar", 0).vectors
    topics, _ = lifted_topics(state.basis.lift, whitening.dual @ vectors)
    weights = first_order_weights(state.root().first, whitening, vectors)
    topics = smoothed_topics(topics, state.mean_words())
    return min(validation.loss(topics, weights[None] / weights.sum() + 1e-3, total) for total in TOTALS)


def rows(corpus: LocalCorpus, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    one_prior = replace(corpus.validation, nodes=np.zeros_like(corpus.validation.nodes))
    validation = Validation(LocalCorpus(corpus.train, one_prior, corpus.tree))
    state = collect(corpus, arguments.k + max(10, arguments.k // 4), k=arguments.k, groups="distinct")
    inside, groups = state.grouped()
    assert inside.third is not None
    assert state.groups is not None
    across = {g: tensors(inside.first, groups.second, groups.third, g) for g in arguments.group_concentrations}
    for g in arguments.concentrations:
        documents = tensors(inside.first, inside.second, inside.third, g)
        for upper, levels in across.items():
            for share in SHARES:
                if (share == 0.0 and upper != arguments.group_concentrations[0]) or (
                    share == 1.0 and g != arguments.concentrations[0]
                ):
                    continue
                loss = loss_of(documents.mixed(levels, share), state, arguments.k, validation)
                yield {"groups": len(state.groups.paths), "g documents": g, "g groups": upper if share else "–",
                       "share across documents": share, "loss": loss}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--name", help="of the result files; default: the name of the corpus")
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--depth", type=int, help="cut the tree to so many levels")
    parser.add_argument("--documents", type=int)
    parser.add_argument("--concentrations", type=float, nargs="+", default=[0.1, 0.3])
    parser.add_argument("--group-concentrations", type=float, nargs="+", default=[0.3, 3.0])
    arguments = parser.parse_args()
    name = f"level-moments-{arguments.name or Path(arguments.corpus).name}"
    corpus = read_corpus(arguments.corpus, depth=arguments.depth, documents=arguments.documents)
    measured = []
    with threadpool_limits(1):
        for row in rows(corpus, arguments):
            measured.append({"k": arguments.k, **row})
            print(measured[-1], flush=True)
    keys = [key for key in measured[0] if key != "loss"]
    everything = merge_rows(RESULTS / f"{name}.json", measured, keys, context=context())
    (RESULTS / f"{name}.md").write_text(markdown_table(everything["rows"], list(measured[0])))


if __name__ == "__main__":
    main()

"""What the spectral start is worth: loss and stability of fits from spectral and from random topics.

    python benchmarks/starts.py --corpus CORPUS [--k 50 --seeds 5 --starts spectral random --sweeps 60 --blur 0.3]
    python benchmarks/starts.py --drawn 50 [--seeds 5]

Every fit has a seed of its own, on which the random start, the basis, the solver and every draw depend; documents keep
their order. "two passes" is how a fit started before its basis settled. Blur is the share of the word frequencies that
sampling mixes into the topics it starts from; surplus is the share of further topics that it begins with and merges.
Alike is the share of topics within half an L1 distance of 0.3 of their partner in the fit of another seed, mean over
all pairs of seeds. Sampling, EM and the exact step are those of a fit, in one process; the loss is that of validation
documents. Rows are added to ``results/starts-NAME.json``.
"""

import argparse
import time
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from bench_corpus import take
from common import RESULTS, context, markdown_table, merge_rows
from local_fit import LocalCorpus, Validation, collect, read_corpus, topics_of
from recovery import Setting, draw
from refine import THREADS, losses, refined
from threadpoolctl import threadpool_limits

from spectral_spark.evaluate.recovery import recovery
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.gibbs_step import SETTLED_BLUR
from spectral_spark.fit.solve_step import REFINED_TOLERANCE, UNSCORED
from spectral_spark.refine import GibbsSettings, RefineSettings
from spectral_spark.solve.topic_pairs import paired_topics

ALIKE = 0.3
BEFORE = "two passes"
STARTS = ("spectral", BEFORE, "random")
MEASURED = {"loss", "lowest", "highest", "alike", "distance", "starts alike", "error", "seconds"}


def start_of(kind: str, corpus: LocalCorpus, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Topics (d, k) and weights (k,) that a fit begins with."""
    words = corpus.train.vocab_size
    if kind == "random":
        frequency = np.bincount(corpus.train.terms, corpus.train.counts, words) + 0.5
        topics = frequency[:, None] * np.random.default_rng([seed, k]).gamma(1.0, size=(words, k))
        return topics / topics.sum(axis=0), np.full(k, 1.0 / k)
    columns = FitSettings(k=k).basis_columns(words)
    moments = collect(corpus, columns, seed=seed, k=k, range_passes=2 if kind == BEFORE else None)
    return topics_of(moments, k, UNSCORED, seed, tolerance=REFINED_TOLERANCE)


def alike(fits: list[np.ndarray]) -> tuple[float, float]:
    """The share of topics that two fits have in common, and the mean distance of partners; over all pairs of fits."""
    apart = []
    for one, other in combinations(fits, 2):
        rows, columns, distance = paired_topics(one, other)
        apart.append(distance[rows, columns])
    return float(np.mean([pair < ALIKE for pair in apart])), float(np.mean(apart))


def rows_of(
    corpus: LocalCorpus, arguments: argparse.Namespace, k: int, truth: np.ndarray | None = None
) -> Iterator[dict[str, Any]]:
    """A row for every start and number of sweeps."""
    usual = FitSettings().sweeps(int(corpus.tokens))
    validation, shards = Validation(corpus), 8
    settings = RefineSettings.for_corpus(2, corpus.train.n_documents / shards, explored=True)
    for kind in arguments.starts:
        began = [start_of(kind, corpus, k, seed) for seed in range(arguments.seeds)]
        settled = kind == "spectral" and not GibbsSettings(usual).searches(k, int(corpus.tokens))
        blurs = arguments.blur or [SETTLED_BLUR if settled else GibbsSettings.blur]
        surpluses = arguments.surplus or [GibbsSettings.surplus]
        for sweeps, blur, surplus in product(arguments.sweeps or [usual], blurs, surpluses):
            explore = GibbsSettings(sweeps, blur=blur, surplus=surplus)
            fits, found, clock = [], [], time.process_time()
            for seed, start in enumerate(began):
                *_, (state, _) = refined(corpus, start, settings, shards, explore, seed)
                fits.append(state.topics(settings.final_smoothing))
                found.append(losses(state, settings, validation)["loss"])
            share, distance = alike(fits)
            row = {
                "k": k, "start": kind, "sweeps": sweeps, "blur": blur, "surplus": surplus, "seeds": arguments.seeds,
                "loss": float(np.mean(found)), "lowest": min(found), "highest": max(found), "alike": share,
                "distance": distance,
                "starts alike": alike([topics for topics, _ in began])[0],
                "seconds": (time.process_time() - clock) / len(fits),
            }
            if truth is not None:
                row["error"] = float(np.mean([recovery(topics, truth).error for topics in fits]))
            yield row


def drawn(k: int) -> tuple[LocalCorpus, np.ndarray]:
    """A corpus with k topics of 20,000 documents, and these topics."""
    simulated = draw(Setting(f"k={k}", 22_000, 2_000, k, (1.0,)), 0)
    numbers = np.arange(simulated.batch.n_documents)
    parts = (take(simulated.batch, numbers[2_000:]), take(simulated.batch, numbers[:2_000]))
    return LocalCorpus(*parts, simulated.tree), simulated.topics


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus")
    parser.add_argument("--drawn", type=int, help="instead of a corpus: so many topics")
    parser.add_argument("--name", help="of the result files; default: the name of the corpus")
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--starts", nargs="+", choices=STARTS, default=STARTS)
    parser.add_argument("--sweeps", type=int, nargs="+", help="default: as many as a fit of the corpus has")
    parser.add_argument("--blur", type=float, nargs="+", help="default: as in a fit of the corpus")
    parser.add_argument("--surplus", type=float, nargs="+", help="default: as in a fit of the corpus")
    parser.add_argument("--documents", type=int, help="use only so many training documents")
    arguments = parser.parse_args()
    truth, k = None, arguments.k
    if arguments.drawn:
        k = arguments.drawn
        corpus, truth = drawn(k)
    else:
        corpus = read_corpus(arguments.corpus, documents=arguments.documents)
    name = f"starts-{arguments.name or (f'drawn-{k}' if arguments.drawn else Path(arguments.corpus).name)}"
    with threadpool_limits(1):
        for row in rows_of(corpus, arguments, k, truth):
            print(row, flush=True)
            keys = [key for key in row if key not in MEASURED]
            everything = merge_rows(RESULTS / f"{name}.json", [row], keys, context=context(), threads=THREADS)
            (RESULTS / f"{name}.md").write_text(markdown_table(everything["rows"], list(row)))


if __name__ == "__main__":
    main()

"""The refinement's loops and settings, measured in one process on the validation documents of a corpus.

    python benchmarks/refine.py --corpus CORPUS --part loops
    python benchmarks/refine.py --corpus CORPUS --part shards [--shards 1 16 --rounds 8 --batch-size 128 --rates .5 .05]
    python benchmarks/refine.py --corpus CORPUS --part fits [--shards 1 4 16 64]
    python benchmarks/refine.py --corpus CORPUS --part explore | tree | spectral

``loops``: the compiled E-step beside NumPy's, seconds of a pass and of compiling. ``shards``: loss after every pass for
each combination of shards, rounds and batch sizes, without sampling. ``fits``: fits as they come, with sampling, for
several numbers of shards. ``explore``: what sampling before the passes is worth, over its settings. ``tree``: the same
fit on the tree cut at every depth. ``spectral``: the spectral start alone, over count cap, word scaling, weighting and
concentration.
Rows are added to ``results/refine-PART-NAME.json``; seconds are those of the processor.
"""

import argparse
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from bench_corpus import take
from common import RESULTS, context, markdown_table, merge_rows
from local_fit import (
    LocalCorpus,
    LocalRounds,
    Validation,
    collect,
    read_corpus,
    refine_pass,
    settle_pass,
    topics_of,
)
from threadpoolctl import threadpool_limits

from spectral_spark.errors import InputError
from spectral_spark.fit.fit_settings import SAMPLE_WORDS, FitSettings
from spectral_spark.refine import (
    DocumentSample,
    GibbsSampler,
    GibbsSettings,
    RefineSettings,
    RefineState,
)

TOTALS = (0.5, 1.0, 2.0, 4.0)
THREADS = 2
MEASURED = {"seconds", "loss", "lowest", "highest", "topics", "concentrations", "documents_per_second"}


def refined(
    corpus: LocalCorpus, start: tuple[np.ndarray, np.ndarray], settings: RefineSettings, shards: int,
    explore: GibbsSettings | None = None, seed: int = 0,
) -> Iterator[tuple[RefineState, float]]:
    """The state after sampling and every pass, the last of them settling, and the processor seconds since the start."""
    state = RefineState.start(*start, corpus.tree.parent, corpus.tree.level, corpus.tokens, corpus.train.n_documents)
    rounds = LocalRounds(corpus.train, shards)
    began = time.process_time()
    if explore is not None:
        sample = DocumentSample.from_batches([corpus.train], SAMPLE_WORDS)
        explorer = GibbsSampler(state, sample, explore, settings, seed=seed, threads=THREADS)
        for _ in range(explore.sweeps):
            explorer.sweep()
        state = explorer.state()
        yield state, time.process_time() - began
    for _ in range(settings.passes):
        state = refine_pass(state, rounds, settings)
        yield state, time.process_time() - began
    for _ in range(settings.settling):
        state = settle_pass(state, rounds, settings)
        yield state, time.process_time() - began


def losses(state: RefineState, settings: RefineSettings, validation: Validation) -> dict[str, float]:
    """With the learnt document concentration."""
    loss = validation.loss(
        state.topics(settings.final_smoothing), state.hierarchy.proportions, state.document_concentration
    )
    return {"loss": loss, "topics": state.k, "concentrations": np.round(state.hierarchy.concentrations, 2).tolist()}


def loop_rows(corpus: LocalCorpus, start: tuple[np.ndarray, np.ndarray]) -> Iterator[dict[str, Any]]:
    """A pass with either backend; the first one of the compiled backend pays for compiling."""
    models = {}
    for backend in ("numba", "numba", "numpy"):
        settings = RefineSettings(passes=1, settling=0, backend=backend)
        began = time.process_time()
        ((state, _),) = refined(corpus, start, settings, 4)
        seconds, first = time.process_time() - began, backend not in models and backend == "numba"
        models[backend] = state.topics(settings.smoothing)
        row = {"loops": f"{backend}, with compiling" if first else backend, "seconds": seconds}
        yield row | {"documents_per_second": corpus.train.n_documents / seconds}
    difference = np.abs(models["numba"] - models["numpy"]).max()
    yield {"loops": "largest difference of the topics", "difference": float(difference)}


def shard_rows(
    corpus: LocalCorpus, start: tuple[np.ndarray, np.ndarray], arguments: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    validation = Validation(corpus)
    for shards, rounds, size in product(arguments.shards, arguments.rounds, arguments.batch_size):
        settings = RefineSettings(
            passes=arguments.passes, rounds=rounds, batch_size=size, first_rate=arguments.rates[0],
            last_rate=arguments.rates[1], inner_iterations=arguments.inner, smoothing=arguments.smoothing,
        )
        rates = f"{settings.first_rate:g} → {settings.last_rate:g}"
        for number, (state, seconds) in enumerate(refined(corpus, start, settings, shards), 1):
            yield {
                "shards": shards, "rounds": rounds, "batch": size, "rates": rates, "inner": settings.inner_iterations,
                "smoothing": settings.smoothing, "passes": settings.passes,
                "pass": number if number <= settings.passes else "settled", "seconds": seconds,
            } | losses(state, settings, validation)


VARIANTS: dict[str, tuple[dict[str, float], ...]] = {
    "sweeps": ({"sweeps": 0}, {"sweeps": 10}, {"sweeps": 30}, {}, {"sweeps": 100}, {"sweeps": 200}, {"sweeps": 400}),
    "start": ({"blur": 0.0}, {"blur": 0.4}, {"blur": 0.9}),
    "prior": ({"first_total": 2.0}, {"first_total": 5.0}, {"first_total": 50.0}),
    "smoothing": ({"smoothing": 0.01}, {"smoothing": 0.1}, {"smoothing": 0.3}),
}


def explore_rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One setting of the sampling changed at a time, {} being the defaults; losses after the passes."""
    corpus = read(arguments)
    start, usual = start_of(corpus, arguments), sweeps_of(corpus, arguments)
    for changed in (change for group in arguments.variants for change in VARIANTS[group]):
        sweeps = changed.get("sweeps", usual)
        explore = GibbsSettings(**({"sweeps": usual} | changed)) if sweeps else None      # type: ignore[arg-type]
        name = ", ".join(f"{key} {value:g}" for key, value in changed.items()) or f"defaults, sweeps {usual}"
        loss = mean_of_orders(corpus, start, arguments, explore, arguments.shards[0])
        yield {"sampling": name, "passes": arguments.passes} | loss


def fit_rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Sampling and passes as in a fit, the passes in more and more shards."""
    corpus = read(arguments)
    start, sweeps = start_of(corpus, arguments), sweeps_of(corpus, arguments)
    for shards in arguments.shards:
        row = {"shards": shards, "sweeps": sweeps, "passes": arguments.passes}
        explore = GibbsSettings(sweeps) if sweeps else None
        yield row | mean_of_orders(corpus, start, arguments, explore, shards)


def mean_of_orders(
    corpus: LocalCorpus, start: tuple[np.ndarray, np.ndarray], arguments: argparse.Namespace,
    explore: GibbsSettings | None, shards: int,
) -> dict[str, Any]:
    """The loss of a fit, mean and range over several orders of the documents (and seeds)."""
    validation, found, spent = Validation(corpus), [], []
    settings = RefineSettings.for_corpus(
        arguments.passes, corpus.train.n_documents / shards, explored=explore is not None
    )
    for order in range(arguments.orders):
        *_, (state, seconds) = refined(shuffled(corpus, order), start, settings, shards, explore, order)
        found.append(losses(state, settings, validation)["loss"])
        spent.append(seconds)
    return {"orders": arguments.orders, "loss": float(np.mean(found)), "lowest": min(found), "highest": max(found),
            "seconds": float(np.mean(spent))}


def sweeps_of(corpus: LocalCorpus, arguments: argparse.Namespace) -> int:
    return int(FitSettings().sweeps(int(corpus.tokens)) if arguments.sweeps is None else arguments.sweeps)


def start_of(corpus: LocalCorpus, arguments: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    moments = collect(corpus, arguments.k + arguments.k // 4, k=arguments.k)
    return topics_of(moments, arguments.k, arguments.concentration)


def tree_rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The whole tree, then cut one level after the other."""
    depth = read(arguments).tree.level.max()
    for level in range(int(depth), -1, -1):
        corpus = read(arguments, level)
        sweeps = sweeps_of(corpus, arguments)
        explore = GibbsSettings(sweeps) if sweeps else None
        row = {"layers": level + 2, "nodes": len(corpus.tree), "sweeps": sweeps, "passes": arguments.passes}
        yield row | mean_of_orders(
            corpus, start_of(corpus, arguments), arguments, explore, arguments.shards[0]
        )


def shuffled(corpus: LocalCorpus, order: int) -> LocalCorpus:
    """The training documents in another order: which of them share a shard and a mini-batch moves the loss."""
    rows = np.random.default_rng(order).permutation(corpus.train.n_documents)
    return replace(corpus, train=take(corpus.train, rows))


def spectral_rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The start alone: one moment pass per cap, scaling and weighting, then every concentration on it."""
    corpus = read(arguments, 0)
    validation = Validation(corpus)
    for cap, scaling, weighting in product((1, 2, 4, None), (0.0, 0.25, 0.5), ("tokens", "ess")):
        moments = collect(
            corpus, arguments.k + arguments.k // 4, cap=cap, scaling=scaling, weighting=weighting, k=arguments.k
        )
        for concentration in (0.1, 0.3, 1.0, 3.0):
            try:
                topics, weights = topics_of(moments, arguments.k, concentration)
            except InputError:                  # the second moment has fewer than k positive eigenvalues
                best = None
            else:
                best = min(validation.loss(topics, weights[None] + 1e-3, total) for total in TOTALS)
            yield {"cap": cap or "none", "scaling": scaling, "weighting": weighting, "g": concentration, "loss": best}


def read(arguments: argparse.Namespace, depth: int | None = None) -> LocalCorpus:
    return read_corpus(
        arguments.corpus, depth=depth, validation=arguments.validation, documents=arguments.documents
    )


def rows_of(arguments: argparse.Namespace) -> Iterable[dict[str, Any]]:
    if arguments.part == "tree":
        return tree_rows(arguments)
    if arguments.part == "explore":
        return explore_rows(arguments)
    if arguments.part == "fits":
        return fit_rows(arguments)
    if arguments.part == "spectral":
        return spectral_rows(arguments)
    corpus = read(arguments)
    start = start_of(corpus, arguments)
    return loop_rows(corpus, start) if arguments.part == "loops" else shard_rows(corpus, start, arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--name", help="of the result files; default: the name of the corpus")
    parser.add_argument("--part", choices=["loops", "shards", "fits", "explore", "tree", "spectral"], default="shards")
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--concentration", type=float, default=0.3, help="of the spectral start")
    parser.add_argument("--documents", type=int, help="use only so many training documents")
    parser.add_argument("--validation", type=int, default=2000)
    parser.add_argument("--shards", type=int, nargs="+", default=[8])
    parser.add_argument("--rounds", type=int, nargs="+", default=[RefineSettings.rounds])
    parser.add_argument("--batch-size", type=int, nargs="+", default=[RefineSettings.batch_size])
    parser.add_argument("--rates", type=float, nargs=2, default=[RefineSettings.first_rate, RefineSettings.last_rate])
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--orders", type=int, default=5, help="of the documents, for fits, tree and explore")
    parser.add_argument("--sweeps", type=int, help="of sampling, for the same; default: as a fit, 0 for none")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS), help="of explore")
    parser.add_argument("--inner", type=int, default=RefineSettings.inner_iterations)
    parser.add_argument("--smoothing", type=float, default=RefineSettings.smoothing)
    arguments = parser.parse_args()
    name = f"refine-{arguments.part}-{arguments.name or Path(arguments.corpus).name}"
    about = {"k": arguments.k, "documents": arguments.documents}
    rows = []
    with threadpool_limits(1):
        for row in rows_of(arguments):
            rows.append(about | row)
            print(rows[-1], flush=True)
    keys = [key for key in rows[0] if key not in MEASURED]
    everything = merge_rows(RESULTS / f"{name}.json", rows, keys, context=context())
    (RESULTS / f"{name}.md").write_text(markdown_table(everything["rows"], list(rows[0])))


if __name__ == "__main__":
    main()

"""The refinement's loops and settings, measured in one process on the validation documents of a corpus.

    python jobs/bench/refine.py --corpus CORPUS --part loops
    python jobs/bench/refine.py --corpus CORPUS --part shards [--shards 1 16 --rounds 8 --batch-size 128 --rates .5 .05]
    python jobs/bench/refine.py --corpus CORPUS --part tree | moves | spectral

``loops``: the compiled E-step beside NumPy's, seconds of a pass and of compiling. ``shards``: loss after every pass for
each combination of shards, rounds and batch sizes. ``tree``: the same settings on the tree cut at every depth.
``moves``: what the count cap, the first document concentration, the last smoothing and moved topics are worth, one
after the other. ``spectral``: the spectral start alone, over count cap, word scaling, weighting and concentration.
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
from local_fit import LocalCorpus, LocalRounds, Validation, collect, loop, read_corpus, topics_of
from threadpoolctl import threadpool_limits

from spectral_spark.errors import InputError
from spectral_spark.ml.choosing import SAMPLE_DOCUMENTS
from spectral_spark.refine import RefineSettings, RefineState, TopicValueKernel, refine_pass, reseed, settle_pass

TOTALS = (0.5, 1.0, 2.0, 4.0)
MEASURED = {"seconds", "loss", "lowest", "highest", "topics", "concentrations", "documents_per_second"}


def refined(
    corpus: LocalCorpus, start: tuple[np.ndarray, np.ndarray], settings: RefineSettings, shards: int,
    concentration: float | None = None,
) -> Iterator[tuple[RefineState, float]]:
    """The state after every pass, the last of them settling, and the processor seconds since the start."""
    state = RefineState.start(*start, corpus.tree.parent, corpus.tree.level, corpus.tokens, corpus.train.n_documents)
    if concentration is not None:
        state.hierarchy.concentrations[-1] = concentration
    rounds = LocalRounds(corpus.train, shards)
    began = time.process_time()
    for number in range(settings.passes):
        if number == 1 and settings.reseeded:
            state, _ = reseed(state, topic_values(corpus, state, settings), settings, 0)
        state = refine_pass(state, rounds, settings)
        yield state, time.process_time() - began
    for _ in range(settings.settling):
        state = settle_pass(state, rounds, settings)
        yield state, time.process_time() - began


def topic_values(corpus: LocalCorpus, state: RefineState, settings: RefineSettings) -> np.ndarray:
    """What the topics are worth on the first SAMPLE_DOCUMENTS training documents, which are in a random order."""
    shared = {
        "topics": state.topics(settings.smoothing), "node_prior": state.hierarchy.proportions,
        "concentration": np.full(len(state.parent), state.document_concentration),
    }
    rows = np.arange(min(SAMPLE_DOCUMENTS, corpus.train.n_documents))
    return loop(TopicValueKernel(), shared, [take(corpus.train, part) for part in np.array_split(rows, 16)])["values"]


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


MOVES: tuple[tuple[str, int | None, float, dict[str, float]], ...] = (
    ("cap 2, first concentration 1, smoothing 0.3", 2, 1.0, {"final_smoothing": 0.3, "reseeded": 0.0}),
    ("… cap 16", 16, 1.0, {"final_smoothing": 0.3, "reseeded": 0.0}),
    ("… first concentration 2", 16, 2.0, {"final_smoothing": 0.3, "reseeded": 0.0}),
    ("… last smoothing 0.05", 16, 2.0, {"reseeded": 0.0}),
    ("… topics worth a tenth of others move", 16, 2.0, {"advantage": 10.0}),
)


def move_rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One setting after the other, from how it was to how it is."""
    corpus = read(arguments)
    validation = Validation(corpus)
    starts = {
        cap: topics_of(collect(corpus, arguments.k + arguments.k // 4, cap=cap), arguments.k, arguments.concentration)
        for cap in {move[1] for move in MOVES}
    }
    for (name, cap, concentration, changed), passes in product(MOVES, (2, 4)):
        settings = replace(RefineSettings(passes=passes), **changed)    # type: ignore[arg-type]
        found = []
        for order in range(arguments.orders):
            *_, (state, _) = refined(shuffled(corpus, order), starts[cap], settings, arguments.shards[0], concentration)
            found.append(losses(state, settings, validation)["loss"])
        yield {"settings": name, "passes": passes, "orders": arguments.orders, "loss": float(np.mean(found)),
               "lowest": min(found), "highest": max(found)}


def tree_rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The whole tree, then cut one level after the other."""
    depth = read(arguments).tree.level.max()
    for level in range(int(depth), -1, -1):
        corpus = read(arguments, level)
        start = topics_of(collect(corpus, arguments.k + arguments.k // 4), arguments.k, arguments.concentration)
        runs = [list(shard_rows(shuffled(corpus, order), start, arguments)) for order in range(arguments.orders)]
        for rows in zip(*runs, strict=True):                # the same step of every order
            found = [row["loss"] for row in rows]
            yield {"layers": level + 2, "nodes": len(corpus.tree), "orders": arguments.orders} | rows[0] | {
                "loss": float(np.mean(found)), "lowest": min(found), "highest": max(found),
            }


def shuffled(corpus: LocalCorpus, order: int) -> LocalCorpus:
    """The training documents in another order: which of them share a shard and a mini-batch moves the loss."""
    rows = np.random.default_rng(order).permutation(corpus.train.n_documents)
    return replace(corpus, train=take(corpus.train, rows))


def spectral_rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The start alone: one moment pass per cap, scaling and weighting, then every concentration on it."""
    corpus = read(arguments, 0)
    validation = Validation(corpus)
    for cap, scaling, weighting in product((1, 2, 4, None), (0.0, 0.25, 0.5), ("tokens", "ess")):
        moments = collect(corpus, arguments.k + arguments.k // 4, cap=cap, scaling=scaling, weighting=weighting)
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
    if arguments.part == "moves":
        return move_rows(arguments)
    if arguments.part == "spectral":
        return spectral_rows(arguments)
    corpus = read(arguments)
    start = topics_of(collect(corpus, arguments.k + arguments.k // 4), arguments.k, arguments.concentration)
    return loop_rows(corpus, start) if arguments.part == "loops" else shard_rows(corpus, start, arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--name", help="of the result files; default: the name of the corpus")
    parser.add_argument("--part", choices=["loops", "shards", "tree", "moves", "spectral"], default="shards")
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--concentration", type=float, default=0.3, help="of the spectral start")
    parser.add_argument("--documents", type=int, help="use only so many training documents")
    parser.add_argument("--validation", type=int, default=2000)
    parser.add_argument("--shards", type=int, nargs="+", default=[8])
    parser.add_argument("--rounds", type=int, nargs="+", default=[RefineSettings.rounds])
    parser.add_argument("--batch-size", type=int, nargs="+", default=[RefineSettings.batch_size])
    parser.add_argument("--rates", type=float, nargs=2, default=[RefineSettings.first_rate, RefineSettings.last_rate])
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--orders", type=int, default=5, help="of the documents, for tree and moves; a mean of all")
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

"""Scoring: documents of 60 words a second and core at k = 100, beside tomotopy, gensim and ``transform``.

    python benchmarks/infer.py                          # out of the peers, those that are installed
    python benchmarks/infer.py --documents 20000 --skip-spark
    python benchmarks/infer.py --beside 300000          # transform on two cores beside two processes without Spark

Every program runs on one thread and scores the same simulated documents. Seconds are of the processor, so that other
work on the machine counts less; those of ``transform`` are wall seconds on one local core, without Spark's start.
tomotopy is trained for ten iterations on the same documents, since it takes no topics from elsewhere; its time and
gensim's are those of their defaults, which iterate differently from ours. ``--beside`` scores that many documents by
two processes with half of them each and by ``transform`` on two local cores, in turn, and writes infer-beside.md:
wall seconds, without the start of either.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

import numpy as np
import scipy.sparse as sp
from common import RESULTS, context, markdown_table, write_json

from spectral_spark.files.model_files import NodeTable, TopicModelFiles
from spectral_spark.serve.topic_model import TopicModel

WORDS, K, VOCABULARY = 60, 100, 10_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--skip-spark", action="store_true", help="leave transform out")
    parser.add_argument("--beside", type=int, help="compare transform on two cores with two processes, nothing else")
    given = parser.parse_args()
    if given.beside:
        return beside(given.beside)
    model, counts = made_up_model(), made_up_documents(given.documents)
    rows = [ours(model, counts, backend) for backend in ("numba", "numpy")]
    peers: dict[str, Callable[[], dict[str, Any]]] = {
        "tomotopy": lambda: by_tomotopy(counts), "gensim": lambda: by_gensim(model, counts),
    }
    for name, run in peers.items():
        if find_spec(name):
            rows.append(run())
        else:
            print(f"{name} is not installed", file=sys.stderr)
    if find_spec("pyspark") and not given.skip_spark:
        rows.append(by_transform(model, counts))
    table = markdown_table(rows, {"program": "program", "documents": "documents", "seconds": "seconds",
                                  "documents_per_second": "documents a second and core"})
    packages = ("numpy", "scipy", "numba", "tomotopy", "gensim", "pyspark")
    write_json(RESULTS / "infer.json", {**context(packages), "words": WORDS, "k": K, "rows": rows})
    (RESULTS / "infer.md").write_text(f"Documents of {WORDS} words, k = {K}, {VOCABULARY:,} words.\n\n{table}\n")
    print(table)
    return 0


def made_up_topics() -> np.ndarray:
    topics = np.random.default_rng(0).dirichlet(np.full(VOCABULARY, 0.05), K).T + 1e-9
    return topics / topics.sum(axis=0)


def made_up_model() -> TopicModel:
    shares = np.full(K, 1.0 / K)
    nodes = NodeTable(((),), np.array([1]), np.array([1.0]), shares[None])
    summary = {"document_concentration": 5.0, "tokens": 1_000_000}
    words = tuple(f"w{i}" for i in range(VOCABULARY))
    return TopicModel(TopicModelFiles(made_up_topics(), shares, words, nodes, summary))


def made_up_documents(n: int) -> sp.csr_matrix:
    """Documents of the model: each word from a topic of the document, about five topics a document."""
    rng = np.random.default_rng(1)
    topics = np.cumsum(made_up_topics(), axis=0)
    columns = []
    for _ in range(n):
        drawn = rng.choice(K, WORDS, p=rng.dirichlet(np.full(K, 0.05)))
        columns.append([np.searchsorted(topics[:, topic], rng.random()) for topic in drawn])
    terms = np.minimum(np.array(columns).ravel(), VOCABULARY - 1)
    owners = np.repeat(np.arange(n), WORDS)
    return sp.csr_matrix((np.ones(len(terms)), (owners, terms)), shape=(n, VOCABULARY))


def measured(program: str, counts: sp.csr_matrix, run: Callable[[], Any], *, wall: bool = False) -> dict[str, Any]:
    clock = time.perf_counter if wall else time.process_time
    started = clock()
    run()
    seconds = clock() - started
    return {"program": program, "documents": counts.shape[0], "seconds": seconds,
            "documents_per_second": round(counts.shape[0] / seconds)}


def ours(model: TopicModel, counts: sp.csr_matrix, backend: str) -> dict[str, Any]:
    scoring = TopicModel(model.files, backend=backend)
    scoring.infer_counts(counts[:10])                   # compiles
    return measured(f"TopicModel.infer_counts, {backend}", counts, lambda: scoring.infer_counts(counts))


def by_tomotopy(counts: sp.csr_matrix) -> dict[str, Any]:
    import tomotopy

    texts = [[f"w{term}" for term in np.repeat(row.indices, row.data.astype(int))] for row in counts]
    lda = tomotopy.LDAModel(k=K, seed=1)
    for text in texts:
        lda.add_doc(text)
    lda.train(10, workers=1)
    unseen = [lda.make_doc(text) for text in texts]
    return measured("tomotopy infer (100 iterations)", counts, lambda: lda.infer(unseen, iterations=100, workers=1))


def by_gensim(model: TopicModel, counts: sp.csr_matrix) -> dict[str, Any]:
    lda = model.to_gensim()
    bags = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in counts]
    return measured("gensim LdaModel.inference", counts, lambda: lda.inference(bags))


def by_transform(model: TopicModel, counts: sp.csr_matrix) -> dict[str, Any]:
    transform = Transform(model, counts, cores=1)
    row = measured("transform on one local core (wall seconds)", counts, transform.run, wall=True)
    transform.spark.stop()
    return row


class Transform:
    """The documents in Spark's cache, and a query that infers their proportions."""

    def __init__(self, model: TopicModel, counts: sp.csr_matrix, cores: int) -> None:
        import pyarrow as pa

        from spectral_spark.engine.documents import node_hashes
        from spectral_spark.engine.session import start_session
        from spectral_spark.ml.inference import Proportions
        from spectral_spark.refine.fixed_topics import FixedTopics

        self.spark = start_session("infer", master=f"local[{cores}]", settings={"spark.ui.enabled": "false"})
        lists = {name: pa.ListArray.from_arrays(counts.indptr.astype(np.int32), pa.array(values))
                 for name, values in (("terms", counts.indices.astype(np.int32)), ("counts", counts.data))}
        self.frame = self.spark.createDataFrame(pa.table(lists)).cache()
        topics = FixedTopics(model.topics, model.nodes.proportions, 5.0)
        self.inference = Proportions(topics, *node_hashes(self.spark, model.nodes.paths))
        self.run()                                      # fills the cache, starts the workers and compiles

    def run(self) -> None:
        """A new query each time: Spark keeps the finished stages of a DataFrame that is collected twice."""
        from pyspark.sql import functions as F

        from spectral_spark.engine.documents import DocumentColumns
        from spectral_spark.ml.inference import add_proportions

        added = add_proportions(self.frame, DocumentColumns(None, "terms", "counts", None), "shares", self.inference)
        added.agg(F.sum(F.element_at("shares", 1))).collect()


def beside(documents: int, rounds: int = 3) -> int:
    """``transform`` on two cores and two processes of ``infer_counts``, in turn."""
    few = made_up_documents(5_000)
    counts = sp.vstack([few] * -(-documents // few.shape[0]), format="csr")[:documents]
    transform = Transform(made_up_model(), counts, cores=2)
    half = documents // 2
    rows = []
    with ProcessPoolExecutor(2, get_context("spawn"), _keep, ([counts[:half], counts[half:]],)) as pool:
        def processes() -> None:
            list(pool.map(_infer, (0, 1)))

        processes()                                     # starts and compiles
        for at in range(rounds):
            for program, run in (("two processes of infer_counts", processes),
                                 ("transform on two local cores", transform.run)):
                rows.append({**measured(program, counts, run, wall=True), "round": at + 1})
    transform.spark.stop()
    best = {name: min(row["seconds"] for row in rows if row["program"] == name) for name in
            dict.fromkeys(row["program"] for row in rows)}
    plain, spark = best.values()
    table = markdown_table(rows, {"program": "program", "round": "round", "documents": "documents",
                                  "seconds": "wall seconds", "documents_per_second": "documents a second"})
    write_json(RESULTS / "infer-beside.json", {**context(("numpy", "numba", "pyspark")), "rows": rows})
    (RESULTS / "infer-beside.md").write_text(
        f"Documents of {WORDS} words, k = {K}, {VOCABULARY:,} words. At its best, transform reaches "
        f"{plain / spark:.2f} of the speed of the processes.\n\n{table}\n")
    print(table)
    return 0


_kept: dict[str, Any] = {}


def _keep(halves: list[sp.csr_matrix]) -> None:
    """Runs as a process of ``beside`` starts."""
    _kept.update(halves=halves, model=TopicModel(made_up_model().files, backend="numba"))
    _kept["model"].infer_counts(halves[0][:10])         # compiles


def _infer(which: int) -> float:
    return float(_kept["model"].infer_counts(_kept["halves"][which])[:, 0].sum())


if __name__ == "__main__":
    sys.exit(main())

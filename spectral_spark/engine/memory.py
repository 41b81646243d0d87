"""Estimates the memory of a fit before it starts: bytes on the driver and in every Python worker."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from spectral_spark.errors import CapacityError

GIB = 1 << 30
SMALL_WORKER = 512 << 20         # bytes: of smaller workers most is an estimate of what Python itself takes
MOST_KNOWN = 50_000_000          # documents that a model knows one by one: 600 MB on the driver
_BYTES_PER_DOCUMENT, _BYTES_PER_WORD = 32, 24       # at the peak, with the copies that sorting and joining them take


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes at the peak of a fit.

    Attributes
    ----------
    driver : in the driver's Python process.
    worker : in each Python worker (one per core of an executor).
    broadcast : the largest broadcast, held once per executor.
    """

    driver: int
    worker: int
    broadcast: int


def memory_need(
    vocab_size: int, basis_size: int, k: int | None = None, nodes: int = 1, *, third: bool = True, held: int = 0
) -> MemoryNeed:
    """Estimated from the sizes: d·p for the basis and the word sums, p³/6 for the third moment, d·k for topics.

    ``third`` tells whether the third moment is collected; ``held`` are the bytes of documents on the driver.
    """
    d, p, topics = vocab_size, basis_size, k or basis_size // 2
    words, cube = 8 * d * p, 8 * p**3 // 6
    if not third:
        squares, statistics = 8 * p * p, 8 * d * topics
        return MemoryNeed(
            8 * words + 6 * statistics + 12 * squares + (500 << 20) + held,
            max(2 * words + 6 * squares, 8 * statistics) + 8 * nodes * p + (200 << 20), max(words, statistics),
        )
    worker = 2 * words + 3 * cube + 8 * nodes * p + (200 << 20)
    pairs = 8 * 1024 * p * p                    # products of pairs of columns for a block of words, in two threads
    driver = 5 * words + 4 * 8 * d * topics + 8 * p**3 * 5 + pairs + (440 << 20) + held
    return MemoryNeed(driver, worker, words)


def held_bytes(documents: int, words: int) -> int:
    """What the driver holds of so many documents during a fit: who they are, and the words that it samples."""
    return _BYTES_PER_DOCUMENT * (documents if documents <= MOST_KNOWN else 0) + _BYTES_PER_WORD * words


def check_memory(
    documents: int, vocab_size: int, basis_size: int, spark: Any, *, k: int | None = None, third: bool = True,
    held: int = 0,
) -> MemoryNeed:
    """Refuse a fit that this machine cannot hold, and say by how much and what to change.

    In local mode the Python workers share the machine with the driver, so their memory is added.
    """
    need = memory_need(vocab_size, basis_size, k if not third else None, third=third, held=held)
    free = available_memory()
    workers = local_workers(spark)
    total = need.driver + workers * need.worker
    if total > free:
        where = f"{need.driver / GIB:.1f} GiB on the driver"
        if workers:
            where += f" and {need.worker / GIB:.1f} GiB in each of {workers} Python workers beside it"
        raise CapacityError(
            f"{documents:,} documents over {vocab_size:,} words with a basis of {basis_size} columns need about "
            f"{where}, {free / GIB:.1f} GiB are free; use fewer words (`vocabSize`), a smaller `k` or `basisSize`, "
            + ("`solver=implicit`, which needs no third moments, " if third else "")
            + ("fewer cores (`master=local[1]`), or a larger machine" if workers else "or a larger driver")
        )
    return need


def executor_shortage(need: MemoryNeed, settings: Mapping[str, str]) -> str | None:
    """What to say if the containers of a cluster have less room than their Python workers need; None if they suffice.

    YARN and Kubernetes end a container that exceeds its memory. What it has beside the heap is the overhead, and
    ``spark.executor.pyspark.memory`` if that is set. Elsewhere there is no such limit to compare with.
    """
    if not settings.get("spark.master", "").startswith(("yarn", "k8s")):
        return None
    heap = _bytes(settings.get("spark.executor.memory", "1g"), "m")
    factor = float(settings.get("spark.executor.memoryOverheadFactor", "0.1"))
    given = settings.get("spark.executor.memoryOverhead")
    room = _bytes(given, "m") if given else max(int(factor * heap), 384 << 20)
    room += _bytes(settings.get("spark.executor.pyspark.memory", "0"), "m")
    cores = int(settings.get("spark.executor.cores", "1"))
    if need.worker < SMALL_WORKER or cores * need.worker <= room:
        return None
    return (
        f"each executor runs {cores} Python workers of about {need.worker / GIB:.1f} GiB, and its container has room "
        f"for {room / GIB:.1f} GiB beside the heap; if it is ended for exceeding its memory, set "
        f"`spark.executor.memoryOverhead={-(-cores * need.worker >> 20)}m`, or `spark.executor.cores` to fewer"
    )


def _bytes(given: str, unit: str) -> int:
    """A size as Spark writes it: 512m, 2g, or a number of ``unit``."""
    text = given.strip().lower().removesuffix("b")
    number, suffix = (text, unit) if text[-1:].isdigit() else (text[:-1], text[-1:])
    return int(float(number) * {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}[suffix])


def local_workers(spark: Any) -> int:
    """Python workers that run on the driver's machine: one per core in local mode, none on a cluster."""
    context = getattr(spark, "_sc", None)
    return int(context.defaultParallelism) if context is not None and context.master.startswith("local[") else 0


def driver_threads(spark: Any) -> int:
    """Threads for work on the driver: the cores of a local session, or all of a machine without workers beside it."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(local_workers(spark) or mine, mine)


def available_memory() -> int:
    """Free memory of this machine or, if it is less, of the container around this process, in bytes."""
    machine, container = int(psutil.virtual_memory().available), _container_memory()
    return machine if container is None else min(machine, container)


def _container_memory(group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What the control group allows beyond what it uses; None without a limit. Its page cache counts as free.

    psutil reads the memory of the whole machine, also inside a container whose control group allows far less.
    """
    try:
        limit, used = (group / "memory.max").read_text().strip(), int((group / "memory.current").read_text())
        cache = dict(line.split() for line in (group / "memory.stat").read_text().splitlines()).get("file", "0")
    except (OSError, ValueError):
        return None
    return max(0, int(limit) - used + int(cache)) if limit != "max" else None

"""Estimates the memory of a fit before it starts: bytes on the driver and in every Python worker."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from spectral_spark.errors import CapacityError

GIB = 1 << 30


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
    vocab_size: int, basis_size: int, k: int | None = None, nodes: int = 1, *, third: bool = True
) -> MemoryNeed:
    """Estimated from the sizes: d·p for the basis and the word sums, p³/6 for the third moment, d·k for topics.

    ``third`` tells whether the third moment is collected.
    """
    d, p, topics = vocab_size, basis_size, k or basis_size // 2
    words, cube = 8 * d * p, 8 * p**3 // 6
    if not third:
        squares, statistics = 8 * p * p, 8 * d * topics
        return MemoryNeed(
            8 * words + 6 * statistics + 12 * squares + (600 << 20),
            max(2 * words + 6 * squares, 8 * statistics) + 8 * nodes * p + (200 << 20), max(words, statistics),
        )
    worker = 2 * words + 3 * cube + 8 * nodes * p + (200 << 20)
    pairs = 8 * 1024 * p * p                    # products of pairs of columns for a block of words, in two threads
    driver = 5 * words + 4 * 8 * d * topics + 8 * p**3 * 5 + pairs + (300 << 20)
    return MemoryNeed(driver, worker, words)


def check_memory(
    documents: int, vocab_size: int, basis_size: int, spark: Any, *, k: int | None = None, third: bool = True
) -> MemoryNeed:
    """Refuse a fit that this machine cannot hold, and say by how much and what to change.

    In local mode the Python workers share the machine with the driver, so their memory is added.
    """
    need, free = memory_need(vocab_size, basis_size, k if not third else None, third=third), available_memory()
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

"""What a fit needs: bytes on the driver and in every Python worker, before anything runs."""

from dataclasses import dataclass
from typing import Any

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


def memory_need(vocab_size: int, basis_size: int, k: int | None = None, nodes: int = 1) -> MemoryNeed:
    """From the sizes alone: d·p for the basis and the word sums, p³/6 for the third moment, d·k for topics."""
    d, p, topics = vocab_size, basis_size, k or basis_size // 2
    words, cube = 8 * d * p, 8 * p**3 // 6
    worker = 2 * words + 3 * cube + 8 * nodes * p + (200 << 20)
    driver = 5 * words + 4 * 8 * d * topics + 8 * p**3 * 3 + (300 << 20)
    return MemoryNeed(driver, worker, words)


def check_memory(documents: int, vocab_size: int, basis_size: int, spark: Any) -> MemoryNeed:
    """Refuse a fit whose driver cannot hold it, with the numbers and what to change."""
    need, free = memory_need(vocab_size, basis_size), available_memory()
    if free is not None and need.driver > free:
        raise CapacityError(
            f"{documents:,} documents over {vocab_size:,} words with a basis of {basis_size} columns need about "
            f"{need.driver / GIB:.1f} GiB on the driver, {free / GIB:.1f} GiB are free; use fewer words "
            "(--vocab-size), a smaller k or basisSize, or a larger driver"
        )
    return need


def available_memory() -> int | None:
    """Bytes this machine can still give out; None where it does not say."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        return None
    return None

"""What every benchmark needs: the revision, the machine, clean time and memory of a child process, tables and JSON.

A benchmark script here writes ``results/NAME.json`` (everything) and ``results/NAME.md`` (the table for people).
"""

import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
WATCHING = 50                # looking at the memory of a large process takes long: at most a fiftieth of one core
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def git_revision() -> str:
    """The commit of the working tree, with ``+`` when files differ from it; "unknown" outside a repository."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def package_revision() -> str:
    """The commit that changed the package last, with ``+`` when its files differ from it; "unknown" likewise."""
    package = str(Path(__file__).parents[1] / "spectral_spark")
    try:
        commit = _git("log", "-1", "--format=%h", "--abbrev=12", "--", package)
        return commit + ("+" if _git("status", "--porcelain", "--", package) else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def machine() -> dict[str, Any]:
    """Processor, cores, memory and operating system."""
    facts: dict[str, Any] = {"system": platform.platform(), "python": platform.python_version()}
    facts["cores"] = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cpu, memory = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    if cpu.exists():
        names = [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
        facts["processor"] = names[0].split(":", 1)[1].strip() if names else platform.machine()
    if memory.exists():
        facts["memory_gb"] = round(int(memory.read_text().split()[1]) / 2**20, 1)
    return facts


def versions(names: Iterable[str]) -> dict[str, str]:
    """Installed versions of packages; absent ones are left out."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def load_average() -> float:
    """How busy the machine is while we measure (1-minute load); tables on a busy machine should say so."""
    return round(os.getloadavg()[0], 2)


def context(
    packages: Iterable[str] = ("spectral-spark", "pyspark", "numpy", "scipy", "numba", "pyarrow"),
) -> dict[str, Any]:
    """What a reader must know to judge a number: revision, machine, versions, load, date."""
    return {
        "revision": git_revision(),
        "machine": machine(),
        "versions": versions(packages),
        "load_at_start": load_average(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


@dataclass(frozen=True)
class Usage:
    """What a child process took: wall seconds, peak memory of its whole process tree, exit code."""

    seconds: float
    peak_bytes: int
    returncode: int


def run_child(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None, log: Path | None = None,
    folder: Path | None = None, timeout: float | None = None, interval: float = 0.2,
) -> Usage:
    """Run a command in its own process, in ``folder`` or here, and watch the memory of it and all its descendants.

    Memory is the sum of proportional set sizes (shared pages counted once), sampled every ``interval`` seconds, or
    every two where that would slow a large process down: a JVM and its Python workers count together with the process
    that started them.
    """
    start = time.perf_counter()
    with open(log or os.devnull, "w") as sink:
        child = subprocess.Popen(
            command, env={**os.environ, **(environment or {})}, cwd=folder, stdout=sink, stderr=subprocess.STDOUT
        )
        with MemoryWatch(child.pid, interval) as memory:
            try:
                code = child.wait(timeout)
            except subprocess.TimeoutExpired:
                child.kill()
                code = child.wait() or -9
    return Usage(time.perf_counter() - start, memory.peak_bytes, code)


class MemoryWatch:
    """Peak memory of a process tree while a block runs; of this process by default."""

    def __init__(self, root: int | None = None, interval: float = 0.2) -> None:
        self.peak_bytes = 0
        self._root, self._interval, self._done = root or os.getpid(), interval, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        pause = self._interval
        while not self._done.wait(pause):
            looked = time.thread_time()
            self.peak_bytes = max(self.peak_bytes, tree_memory(self._root))
            pause = max(self._interval, WATCHING * (time.thread_time() - looked))

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def tree_memory(root: int) -> int:
    """Bytes of memory of a process and all its descendants (proportional set size); 0 where /proc does not tell."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(after_name[1]), []).append(int(entry.name))
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += process_memory(process)
        waiting += children.get(process, [])
    return total


def process_memory(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def interleaved(functions: Mapping[str, Callable[[], Any]], repeats: int = 5) -> dict[str, list[float]]:
    """Seconds of each function, run in turn (a, b, a, b, …) so that a noisy machine is noisy for all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def write_json(path: Path, value: Any) -> None:
    """Write JSON in one step, so that a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.{os.getpid()}")
    staging.write_text(json.dumps(value, indent=1, ensure_ascii=False, default=_plain) + "\n")
    staging.replace(path)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def merge_rows(path: Path, rows: Sequence[Mapping[str, Any]], keys: Sequence[str], **top: Any) -> dict[str, Any]:
    """Add rows to ``{"rows": […], …}`` in a JSON file; a row with the same ``keys`` is replaced. Returns the whole."""
    document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"rows": []}
    fresh = {tuple(row.get(key) for key in keys) for row in rows}
    kept = [row for row in document["rows"] if tuple(row.get(key) for key in keys) not in fresh]
    document |= {**top, "rows": [*kept, *map(dict, rows)]}
    write_json(path, document)
    return document


def markdown_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | Sequence[str]) -> str:
    """Rows as a Markdown table. ``columns`` maps keys to headings; floats get sensible digits, None is a dash."""
    headings = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    lines = ["| " + " | ".join(headings.values()) + " |", "|" + "---|" * len(headings)]
    lines += ["| " + " | ".join(_cell(row.get(key)) for key in headings) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 20 else f"{value:.1f}" if abs(value) < 200 else f"{value:,.0f}"
    return str(value)


def python() -> str:
    """The interpreter of this environment."""
    return sys.executable

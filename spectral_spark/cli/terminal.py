"""What people see: a progress line on standard error, and a short ending on standard output."""

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

MINIMUM_SECONDS = 0.1


class Terminal:
    """Progress goes to standard error, on one line that is rewritten, and only when that is a terminal.

    The ending goes to standard output.
    """

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None, out: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._out = out or sys.stdout
        self.quiet = quiet
        self._live = not quiet and self._stream.isatty()
        self._last = 0.0
        self._shown = False

    def progress(self, text: str, *, now: bool = False) -> None:
        """Show what is going on; calls in quick succession are skipped unless ``now``."""
        if not self._live or (not now and time.monotonic() - self._last < MINIMUM_SECONDS):
            return
        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r\x1b[K" + text[:width])
        self._stream.flush()
        self._last, self._shown = time.monotonic(), True

    def clear(self) -> None:
        """Take the progress line away."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show what is going on while a block runs that cannot tell how far it is."""
        self.progress(f"{what} …", now=True)
        try:
            yield
        finally:
            self.clear()

    def say(self, *lines: str) -> None:
        """Lines of the ending."""
        if self.quiet:
            return
        self.clear()
        print(*lines, sep="\n", file=self._out, flush=True)


def number(value: float) -> str:
    """A count as people write it: 1,234,567."""
    return f"{value:,.0f}"


def duration(seconds: float) -> str:
    """A time as people say it: 0.8 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def topic_lines(rows: Sequence[tuple[int, float, Sequence[str]]], most: int = 10) -> list[str]:
    """One line per topic: number, share of the corpus, first words; the rest is only counted."""
    lines = [f"  {topic:>3}  {weight:>5.1%}  {' '.join(words)}" for topic, weight, words in rows[:most]]
    if len(rows) > most:
        lines.append(f"       … and {len(rows) - most} more")
    return lines

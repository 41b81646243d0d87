"""Output of the command line: progress on standard error, results on standard output."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from spectral_spark.engine.status_line import StatusLine, write_or_drop
from spectral_spark.plain_text import duration, number, printable

__all__ = ["Terminal", "duration", "number", "printable", "topic_lines"]


class Terminal:
    """Progress goes to standard error: on one line that is rewritten, or into a log. Results go to standard output.

    Everything that is written passes through :func:`printable`, so that no word, node or file name can drive the
    terminal; and a reader that has gone away ends nothing.
    """

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self.quiet = quiet
        self.line = StatusLine(stream, quiet=quiet)

    @contextmanager
    def following(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show a running activity that says now and then how far it is: the newest of that, and the seconds so far.

        A log has its start and its end only.
        """
        started, newest = time.perf_counter(), what

        def tell(text: str) -> None:
            nonlocal newest
            newest = f"{what}: {text}"

        self.line.log(f"{what} …")
        with self.line.showing(lambda: f"{newest} … {duration(time.perf_counter() - started)}"):
            yield tell
        self.line.log(f"{what}: {duration(time.perf_counter() - started)}")

    def clear(self) -> None:
        """Clear the progress line."""
        self.line.clear()

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show a running activity whose progress is not known."""
        with self.line.doing(what):
            yield

    def say(self, *lines: str) -> None:
        """Print lines of the result, unless ``--quiet`` was given."""
        if not self.quiet:
            self.print(*lines)

    def print(self, *lines: str) -> None:
        """Lines that were asked for, such as a table or a plan."""
        self.clear()
        write_or_drop(self._out, "".join(f"{printable(line)}\n" for line in lines))


def complain(text: str) -> None:
    """One line on standard error that says what went wrong."""
    write_or_drop(sys.stderr, f"{printable(text)}\n")


def topic_lines(rows: Sequence[tuple[int, float, Sequence[str]]], most: int = 10, model: str = "MODEL") -> list[str]:
    """One line per topic: number, share of the words of the corpus, first words; the rest is only counted."""
    lines = [f"  {topic:>3}  {weight:>5.1%}  {' '.join(words)}" for topic, weight, words in rows[:most]]
    if len(rows) > most:
        lines.append(f"       … and {len(rows) - most} more: spectral-spark topics {model}")
    return lines

"""Shows what is going on: one line that is rewritten on a terminal, separate lines in a log."""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from spectral_spark.plain_text import duration, printable

ERASE = "\r\x1b[K"
_PLAIN = str.maketrans({"…": "...", "−": "-", "–": "-", "→": "->", "›": ">"})      # what our own messages are made of


class StatusLine:
    """The activities under way, the innermost of which is shown.

    On a terminal the line is redrawn while an activity lasts, so that something moves even when the work itself cannot
    tell how far it is. Elsewhere an activity writes one line when it starts and one when it ends. A reader that has
    gone away (``… | head``) is no error: nothing more is written.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False, interval: float = 0.5) -> None:
        self._stream = stream or sys.stderr
        self.quiet = quiet
        self.live = not quiet and self._stream.isatty()
        self._interval = interval
        self._activities: list[Callable[[], str]] = []
        self._lock = threading.RLock()
        self._shown = False

    @contextmanager
    def showing(self, describe: Callable[[], str]) -> Iterator[None]:
        """Redraw ``describe()`` until the block ends, then show what was shown before."""
        if not self.live:
            yield
            return
        with self._lock:
            self._activities.append(describe)
            first = len(self._activities) == 1
        self._draw()
        stop = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(stop,), daemon=True) if first else None
        if ticker:
            ticker.start()
        try:
            yield
        finally:
            stop.set()
            if ticker:
                ticker.join()
            with self._lock:
                self._activities.remove(describe)
                self.clear()

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show an activity that cannot tell how far it is, with the seconds it has taken."""
        started = time.perf_counter()
        self.log(f"{what} …")
        with self.showing(lambda: f"{what} … {duration(time.perf_counter() - started)}"):
            yield
        self.log(f"{what}: {duration(time.perf_counter() - started)}")

    def keep(self, text: str) -> None:
        """Write a line that stays, whether on a terminal or in a log."""
        if not self.quiet:
            with self._lock:
                self.clear()
                self._write(printable(text) + "\n")

    def log(self, text: str) -> None:
        """Write a line where there is no terminal to show the activity itself."""
        if not self.live:
            self.keep(text)

    def clear(self) -> None:
        """Clear the line."""
        with self._lock:
            if self._shown:
                self._write(ERASE)
                self._shown = False

    def _tick(self, stop: threading.Event) -> None:
        while not stop.wait(self._interval):
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            describe = self._activities[-1] if self._activities else None
        if describe is None:
            return
        with suppress(Exception):                           # Spark may be stopping, which is no reason to fail here
            text = describe()
            with self._lock:
                if self._activities and self._activities[-1] is describe:
                    self._show(text)

    def _show(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._write(ERASE + printable(text)[:width])
        self._shown = True

    def _write(self, text: str) -> None:
        write_or_drop(self._stream, text)


def write_or_drop(stream: TextIO, text: str) -> None:
    """Write to a stream and flush it; if its reader has gone away, redirect it to nothing for good.

    Letters that the stream's encoding lacks (``LC_ALL=C``) are written as escapes.
    """
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError as error:
            plain = text.translate(_PLAIN).encode(error.encoding, "backslashreplace")
            stream.write(plain.decode(error.encoding))
        stream.flush()
    except BrokenPipeError:
        with suppress(OSError, ValueError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)

"""Turns Ctrl-C and SIGTERM into exactly one KeyboardInterrupt that is never lost."""

import math
import os
import signal
import sys
import threading
import time
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN_SECONDS = 0.1
PATIENCE_SECONDS = 5.0


class Interrupts:
    """While it is active, both signals raise KeyboardInterrupt in the main thread.

    Signals that arrive while a KeyboardInterrupt is being handled do not raise a second one, and none is raised after
    the work has ended (``settle``). An interrupt inside a callback of the interpreter, of which py4j has many, would be
    printed and lost; it is sent again. In threads other than the main one, which may not set signal handlers, nothing
    is changed.

    Attributes
    ----------
    received : whether there was one; any error after it is its consequence.
    """

    def __init__(self) -> None:
        self.received = False
        self._previous: dict[signal.Signals, Any] = {}
        self._hook = sys.unraisablehook
        self._again: threading.Timer | None = None
        self._silent_until = 0.0

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.getsignal(number) for number in SIGNALS}
            sys.unraisablehook = self._lost
            self.listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.settle()
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        if self._previous:
            sys.unraisablehook = self._hook

    def listen(self) -> None:
        """Install the handlers; needed again after Spark has started, because Spark installs its own."""
        for number in self._previous:
            signal.signal(number, self._raise)

    def settle(self) -> None:
        """Stop raising interrupts, so that cleaning up is not disturbed."""
        self._silent_until = math.inf
        if self._again is not None:
            self._again.cancel()
            self._again.join()
            self._silent_until = math.inf

    def _raise(self, number: int, frame: Any) -> None:
        self.received = True
        if time.monotonic() >= self._silent_until:
            self._silent_until = time.monotonic() + PATIENCE_SECONDS
            raise KeyboardInterrupt

    def _lost(self, event: Any) -> None:
        if event.exc_type is not KeyboardInterrupt:
            self._hook(event)
        elif self._silent_until < math.inf:
            self._again = threading.Timer(AGAIN_SECONDS, self._send_again)
            self._again.daemon = True
            self._again.start()

    def _send_again(self) -> None:
        if self._silent_until < math.inf:
            self._silent_until = 0.0
            os.kill(os.getpid(), signal.SIGINT)

"""Runs a command: starts Spark when it is first needed, stops it at the end, and returns an exit code."""

import atexit
import logging
import os
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from spectral_spark.cli.failures import INTERNAL, INTERRUPTED, USAGE, explain
from spectral_spark.cli.interrupts import Interrupts
from spectral_spark.cli.parsing import PROGRAM, Request, parse
from spectral_spark.cli.terminal import Terminal, complain
from spectral_spark.engine.status_line import write_or_drop
from spectral_spark.files.paths import is_remote

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from spectral_spark.engine.progress import Progress

WITHOUT_SPARK = {"infer", "labels", "report", "taxonomy", "topics"}      # they read models and start no session


class CommandRun:
    """The context of a running command: its settings, the terminal and the Spark session."""

    def __init__(self, request: Request, spark: "SparkSession | None" = None) -> None:
        self.request = request
        self._given = spark
        self.interrupts = Interrupts()
        self.terminal = Terminal(quiet=request.settings.quiet)
        self.started = time.perf_counter()
        self.log: Path | None = None
        self._quiet = ExitStack()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @cached_property
    def spark(self) -> "SparkSession":
        """The session: the one that was given, or one started when it is first asked for."""
        from spectral_spark.engine.session import (
            check_file_names,
            new_log,
            quiet_query_errors,
            start_session,
            started_by_spark_submit,
        )

        settings = self.request.settings
        if not settings.debug:
            self._quiet.enter_context(quiet_query_errors())
        if self._given is not None:
            return self._given
        if not settings.debug and not started_by_spark_submit():
            self.log = new_log()
        with self.terminal.doing("starting Spark"):
            session = start_session(
                f"spectral-spark {self.request.verb.name}",
                master=settings.master,
                settings=dict(settings.spark_conf),
                fallbacks=self.request.spark,
                log=self.log,
            )
        self.interrupts.listen()
        check_file_names(session, (value for value in vars(settings).values() if isinstance(value, str)))
        return session

    @cached_property
    def passes(self) -> "Progress":
        """Where the engine reports the progress of a pass."""
        from spectral_spark.engine.progress import TerminalProgress

        return TerminalProgress(line=self.terminal.line)

    def step(self, words: Sequence[str]) -> None:
        """Run another verb inside this one, in the same Spark session."""
        request = parse(words)
        assert isinstance(request, Request)
        step = CommandRun(request, self.spark)
        step.terminal = self.terminal
        request.verb.plan(request.settings)
        request.verb.run(step, request.settings)

    def close(self, failed: bool) -> None:
        """Stop Spark, and remove its log unless something unexpected happened."""
        self.terminal.clear()
        self._quiet.close()
        if "spark" in self.__dict__ and self._given is None:
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")         # an interrupt may have cut the line to Spark, which ends anyway
                self.spark.stop()
        if self.log is None:
            return
        if failed and self.log.stat().st_size:
            complain(f"{PROGRAM}: Spark's log is in {self.log}")
        else:
            self.log.unlink(missing_ok=True)


def main(argv: Sequence[str] | None = None, spark: "SparkSession | None" = None) -> int:
    """Run ``argv`` and return the exit code: 0 only when the output is complete.

    2 stands for wrong usage or input, 1 for a failure of ours or Spark's, 130 for an interrupt. A session that is given
    is used and left running; otherwise one is started where it is needed, and stopped.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    _replace_closed_streams()
    try:
        request = parse(words)
    except Exception as error:
        return _report(error, "--debug" in words)
    if isinstance(request, str):
        write_or_drop(sys.stdout if words else sys.stderr, request)
        return 0 if words else USAGE
    return execute(request, spark)


def _replace_closed_streams() -> None:
    """A process whose standard streams were closed (``>&- 2>&-``) works all the same; nobody reads what it says."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))     # noqa: SIM115  (lives as long as we do)


def execute(request: Request, spark: "SparkSession | None" = None) -> int:
    """Plan the command and, unless it is a dry run, run it."""
    run = CommandRun(request, spark)
    if spark is None and not request.settings.debug:
        logging.getLogger().addHandler(logging.NullHandler())    # py4j logs tracebacks of what is reported here anyway
    with run.interrupts:
        return _execute(run)


def _execute(run: CommandRun) -> int:
    request, code = run.request, INTERNAL
    try:
        if _needs_hadoop(request):
            _ = run.spark                               # what is remote is reached through Hadoop, with its settings
        plan = request.verb.plan(request.settings)
        if request.settings.dry_run:
            run.terminal.print(f"{request.verb.name} would:", *(f"  {line}" for line in plan))
        else:
            request.verb.run(run, request.settings)
        code = 0
    except (Exception, KeyboardInterrupt) as error:
        run.interrupts.settle()
        run.terminal.clear()
        code = _report(KeyboardInterrupt() if run.interrupts.received else error, request.settings.debug)
    finally:
        run.interrupts.settle()
        run.close(failed=code == INTERNAL)
    return code


def _needs_hadoop(request: Request) -> bool:
    """Whether a verb that runs on Spark anyway is given a path on another file system than the local one."""
    remote = any(is_remote(value) for value in vars(request.settings).values())
    return remote and request.verb.name not in WITHOUT_SPARK


def _report(error: BaseException, debug: bool) -> int:
    message, code = explain(error)
    complain(f"{PROGRAM}: {message}")
    if debug:
        traceback.print_exception(error)
    elif code == INTERNAL:
        complain(f"{PROGRAM}: --debug shows the traceback")
    return code


def program() -> None:
    """What the script ``spectral-spark`` does."""
    end_process(main())


def run_job(verb: str) -> None:
    """What ``jobs/VERB.py`` does: the verb with the arguments of ``spark-submit``, ending the process."""
    end_process(main([verb, *sys.argv[1:]]))


def end_process(code: int) -> NoReturn:
    """End the process with an exit code.

    After a KeyboardInterrupt inside ``exec`` or ``eval``, which imports of dataclasses use, Python would end itself
    with the signal in place of the code, although the interrupt was handled.
    """
    if code == INTERRUPTED:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)

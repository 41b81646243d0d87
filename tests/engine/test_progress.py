"""One line per pass: it moves on a terminal, is written once in a log, and names the jobs in the Spark UI."""

import io
import re
import time
from typing import Any

from spectral_spark.engine.progress import TerminalProgress
from spectral_spark.engine.status_line import StatusLine


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def kept_lines(screen: io.StringIO) -> list[str]:
    """What is left on the screen: of every line only what was written after it was erased last."""
    lines = [line.rsplit("\r", 1)[-1].removeprefix("\x1b[K") for line in screen.getvalue().split("\n")]
    return [line for line in lines if line]


def test_a_line_per_pass_says_which_how_many_and_how_fast(spark: Any) -> None:
    screen = Screen()
    progress = TerminalProgress(screen, interval=0.01)
    progress.plan(2, 8000)
    with progress.watch(spark, "moments"):
        spark.range(100).count()
    for number in range(2):
        with progress.watch(spark, f"refine 1, round {number + 1} of 2", number, 2):
            assert spark.sparkContext.getLocalProperty("spark.job.description").endswith(f"round {number + 1} of 2")
            spark.range(100).count()
    lines = kept_lines(screen)
    assert [line.split("  ")[1] for line in lines] == ["pass 1 of 2", "pass 2 of 2", "pass 2 of 2"]
    assert ["8,000 documents" in line for line in lines] == [True, False, False]
    assert "4,000 documents" in lines[1]                    # a round is half of its pass
    assert all(re.search(r"100%.* [\d,]+/s  [\d.,]+ m?s", line) for line in lines)
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None


def test_a_log_has_a_line_when_a_pass_starts_and_one_when_it_is_done(spark: Any) -> None:
    log = io.StringIO()
    progress = TerminalProgress(log)
    progress.plan(2, 50)
    with progress.watch(spark, "moments"):
        assert log.getvalue() == "  pass 1 of 2  moments …\n"
    _, end = log.getvalue().splitlines()
    assert re.fullmatch(r"  pass 1 of 2  moments +100%  50 documents  [\d,]+/s  [\d.]+ m?s", end)


def test_work_on_the_driver_says_how_far_it_is() -> None:
    screen = Screen()
    progress = TerminalProgress(screen, interval=0.01)
    with progress.watch(None, "sampling"):
        progress.advance(0.5)
        time.sleep(0.1)
    assert " 50%" in screen.getvalue()
    assert "100%" in kept_lines(screen)[-1]


def test_something_moves_while_work_cannot_tell_how_far_it_is() -> None:
    screen = Screen()
    line = StatusLine(screen, interval=0.01)
    with line.doing("starting Spark"):
        time.sleep(0.4)
    shown = set(re.findall(r"starting Spark … (\S+ m?s)", screen.getvalue()))
    assert len(shown) >= 3


def test_the_outer_activity_comes_back_after_the_inner_one() -> None:
    screen = Screen()
    line = StatusLine(screen, interval=0.01)
    with line.doing("fitting"):
        with line.doing("pass"):
            time.sleep(0.05)
        time.sleep(0.05)
        assert screen.getvalue().rsplit("\r\x1b[K", 1)[-1].startswith("fitting …")
    assert kept_lines(screen) == []


def test_a_reader_that_has_gone_away_is_no_error() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    StatusLine(Closed()).keep("done")


def test_names_cannot_drive_the_terminal() -> None:
    screen = Screen()
    StatusLine(screen).keep("group \x1b]0;owned\x07")
    assert screen.getvalue() == "group \\x1b]0;owned\\x07\n"

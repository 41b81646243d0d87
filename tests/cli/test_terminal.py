"""Progress is a moving line on a terminal and a log elsewhere; results are a few lines, safe to print."""

import io
import subprocess
import sys
import time
from pathlib import Path

from spectral_spark.cli.terminal import Terminal, topic_lines


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_and_taken_away() -> None:
    screen, out = Screen(), io.StringIO()
    terminal = Terminal(stream=screen, out=out)
    with terminal.doing("starting Spark"):
        assert "starting Spark …" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")
    terminal.say("done")
    assert out.getvalue() == "done\n"


def test_the_newest_word_of_an_activity_stays_on_the_terminal() -> None:
    screen = Screen()
    terminal = Terminal(stream=screen, out=io.StringIO())
    terminal.line._interval = 0.01
    with terminal.following("reading documents") as tell:
        tell("5,000 usable")
        deadline = time.monotonic() + 10
        while "reading documents: 5,000 usable …" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "reading documents: 5,000 usable …" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_a_log_has_the_start_and_the_end_of_an_activity_and_no_control_characters() -> None:
    stream, out = io.StringIO(), io.StringIO()
    terminal = Terminal(stream=stream, out=out)
    with terminal.doing("starting Spark"):
        assert stream.getvalue() == "starting Spark …\n"
    with terminal.following("reading documents") as tell:
        tell("400 words")
    terminal.say("done")
    lines = stream.getvalue().splitlines()
    assert lines[1].startswith("starting Spark: ")
    assert lines[2] == "reading documents …"
    assert lines[3].startswith("reading documents: ")
    assert len(lines) == 4
    assert "\x1b" not in stream.getvalue()
    assert out.getvalue() == "done\n"


def test_quiet_says_nothing() -> None:
    screen, out = Screen(), io.StringIO()
    terminal = Terminal(quiet=True, stream=screen, out=out)
    with terminal.doing("scoring"), terminal.following("reading"):
        pass
    terminal.say("done")
    assert screen.getvalue() == out.getvalue() == ""


def test_words_cannot_drive_the_terminal() -> None:
    out = io.StringIO()
    Terminal(stream=io.StringIO(), out=out).say(*topic_lines([(0, 1.0, ["\x1b[2J", "good"])]))
    assert out.getvalue() == "    0  100.0%  \\x1b[2J good\n"


def test_topics_beyond_the_first_ten_are_counted() -> None:
    lines = topic_lines([(i, 0.05, ["a", "b"]) for i in range(12)], model="out/model")
    assert len(lines) == 11
    assert lines[-1].strip() == "… and 2 more: spectral-spark topics out/model"


def test_closed_streams_change_no_exit_code(tmp_path: Path) -> None:
    command = f'exec "{sys.executable}" -m spectral_spark.cli fit --corpus nowhere --model m >&- 2>&-'
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, check=False).returncode == 2

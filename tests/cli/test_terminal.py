"""Progress is a moving line on a terminal and a log elsewhere; results are a few lines, safe to print."""

import io
import subprocess
import sys
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


def test_a_log_has_the_start_and_the_end_of_an_activity_and_no_control_characters() -> None:
    stream, out = io.StringIO(), io.StringIO()
    terminal = Terminal(stream=stream, out=out)
    terminal.progress("working", now=True)
    with terminal.doing("starting Spark"):
        assert stream.getvalue() == "starting Spark …\n"
    terminal.say("done")
    assert stream.getvalue().splitlines()[1].startswith("starting Spark: ")
    assert "\x1b" not in stream.getvalue()
    assert out.getvalue() == "done\n"


def test_quiet_says_nothing() -> None:
    screen, out = Screen(), io.StringIO()
    terminal = Terminal(quiet=True, stream=screen, out=out)
    terminal.progress("working", now=True)
    with terminal.doing("scoring"):
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

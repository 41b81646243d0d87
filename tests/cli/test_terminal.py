"""Progress is one line on a terminal and silence elsewhere."""

import io

from spectral_spark.cli.terminal import Terminal, duration, number, topic_lines


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


def test_nothing_but_the_ending_without_a_terminal() -> None:
    stream, out = io.StringIO(), io.StringIO()
    terminal = Terminal(stream=stream, out=out)
    terminal.progress("working", now=True)
    terminal.say("done")
    assert stream.getvalue() == ""
    assert out.getvalue() == "done\n"


def test_quiet_says_nothing() -> None:
    screen, out = Screen(), io.StringIO()
    terminal = Terminal(quiet=True, stream=screen, out=out)
    terminal.progress("working", now=True)
    terminal.say("done")
    assert screen.getvalue() == out.getvalue() == ""


def test_numbers_and_times_are_for_people() -> None:
    assert number(1234567) == "1,234,567"
    assert [duration(s) for s in (0.84, 12.3, 59.6, 200, 7500)] == ["0.8 s", "12 s", "1 min", "3 min 20 s", "2 h 5 min"]


def test_topics_beyond_the_first_ten_are_counted() -> None:
    lines = topic_lines([(i, 0.05, ["a", "b"]) for i in range(12)])
    assert len(lines) == 11
    assert lines[-1].strip() == "… and 2 more"

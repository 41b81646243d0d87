"""One line per pass on a terminal, nothing elsewhere, and named jobs in the Spark UI."""

import io
import re
from typing import Any

from spectral_spark.engine.progress import TerminalProgress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


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
    lines = [line.rsplit("\r", 1)[-1] for line in screen.getvalue().strip("\n").split("\n")]
    assert [line.split("  ")[1] for line in lines] == ["pass 1 of 2", "pass 2 of 2", "pass 2 of 2"]
    assert ["8,000 documents" in line for line in lines] == [True, False, False]
    assert "4,000 documents" in lines[1]                    # a round is half of its pass
    assert all(re.search(r"100%.* [\d,]+/s  [\d.,]+ s", line) for line in lines)
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None


def test_nothing_is_written_where_nobody_looks(spark: Any) -> None:
    log = io.StringIO()
    with TerminalProgress(log).watch(spark, "moments"):
        pass
    assert log.getvalue() == ""

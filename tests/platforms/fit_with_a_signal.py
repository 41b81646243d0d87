"""``fit_under_fire.py`` that kills nothing itself: it writes a file ANSWER.now in the middle of a pass, for the test.

    spark-submit --py-files fit_under_fire.py fit_with_a_signal.py ANSWER node=PASS
"""

import sys
from pathlib import Path

import fit_under_fire


class Signal(fit_under_fire.Saboteur):
    def _kill(self, kind: str) -> None:
        Path(f"{sys.argv[1]}.now").touch()
        self.killed.append(kind)


if __name__ == "__main__":
    fit_under_fire.Saboteur = Signal
    fit_under_fire.main()

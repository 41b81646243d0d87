"""The pages of the documentation and the code blocks on them.

A block is run by a test unless a comment right before it says why not: ``<!-- not run: needs a Docker engine -->``.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.standalone import REPOSITORY

_BLOCK = re.compile(r"(?:^<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its lines, and the reason why it is not run (None: it is)."""

    language: str
    code: str
    not_run: str | None

    @property
    def commands(self) -> list[str]:
        return [line.split("  #")[0].strip() for line in self.code.splitlines() if line.strip()]


def all_pages() -> list[str]:
    """README and documentation, in the order in which a reader meets them; the first one makes the demo."""
    tutorials = [f"docs/tutorials/{name}.md" for name in ("demo", "own-documents", "python", "amazon", "enron")]
    first = ["README.md", "docs/index.md", *tutorials, "docs/guides/updating.md"]
    found = [path.relative_to(REPOSITORY).as_posix() for path in sorted((REPOSITORY / "docs").rglob("*.md"))]
    return [*first, *(page for page in found if page not in first), "CONTRIBUTING.md"]


def text_of(page: str) -> str:
    return Path(REPOSITORY, page).read_text(encoding="utf-8")


def blocks(page: str, *languages: str) -> list[Block]:
    """The blocks of a page, in order."""
    found = [Block(match["language"], match["code"], match["reason"]) for match in _BLOCK.finditer(text_of(page))]
    return [block for block in found if not languages or block.language in languages]


def commands(page: str) -> list[str]:
    """All lines of the shell blocks of a page, run or not."""
    return [line for block in blocks(page, "bash") for line in block.commands]


def verb_words(line: str) -> list[str]:
    """The words of a spectral-spark or spark-submit command from its verb on."""
    words = shlex.split(line)
    if words[0] == "spectral-spark":
        return words[1:]
    job = next(place for place, word in enumerate(words) if re.search(r"jobs/\w+\.py$", word))
    return [Path(words[job]).stem, *words[job + 1 :]]

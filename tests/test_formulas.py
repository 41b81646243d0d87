"""Docstrings cite sections of docs/formulas.md, and that page names modules and classes: both must exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "formulas.md").read_text()
SOURCES = [path for folder in ("spectral_spark", "benchmarks") for path in (ROOT / folder).rglob("*.py")]


def test_every_cited_section_exists() -> None:
    sections = {int(number) for number in re.findall(r"^## (\d+)\. ", PAGE, flags=re.MULTILINE)}
    cited = {
        (str(path.relative_to(ROOT)), int(number))
        for path in SOURCES for number in re.findall(r"formulas\s§(\d+)", path.read_text())
    }
    assert sections == set(range(1, max(sections) + 1))
    assert len(cited) > 20
    assert [place for place in sorted(cited) if place[1] not in sections] == []


def test_citations_have_one_form() -> None:
    """A bare § could mean a section of anything."""
    bare = [str(path) for path in SOURCES if re.search(r"(?<!formulas\s)(?<!and\s)§\d", path.read_text())]
    assert bare == []


@pytest.mark.parametrize("module", sorted(set(re.findall(r"`(\w+/\w+\.py)`", PAGE))))
def test_named_modules_exist(module: str) -> None:
    assert (ROOT / "spectral_spark" / module).is_file()


def test_named_attributes_exist() -> None:
    """Names of the symbol table, like ``Whitening.matrix``."""
    code = "\n".join(path.read_text() for path in SOURCES)
    table = PAGE[PAGE.index("## Symbols") : PAGE.index("## The model")]
    named = re.findall(r"`([A-Z]\w+)\.(\w+)`", table)
    assert len(named) > 10
    missing = [
        f"{name}.{attribute}" for name, attribute in named
        if f"class {name}" not in code or not re.search(rf"\b{attribute}\b", code)
    ]
    assert missing == []

"""The text and HTML forms of summaries: a few readable lines, and the same as a table in notebooks."""

from collections.abc import Iterable
from html import escape
from typing import Any

Facts = Iterable[tuple[str, str]]


def text_view(title: str, facts: Facts) -> str:
    """A title and one line per fact, the names in a column."""
    rows = list(facts)
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def html_view(title: str, facts: Facts) -> str:
    """The same as a table; names and values are escaped."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in facts
    )
    return f"<div><b>{escape(title)}</b><table>{rows}</table></div>"


def counts_text(counts: dict[str, int]) -> str:
    """What was dropped, by reason."""
    return ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in counts.items() if n) or "none"


def seconds_text(seconds: dict[str, float]) -> str:
    """The whole time, and the steps that took most of it."""
    steps = sorted(((s, name) for name, s in seconds.items() if name != "total"), reverse=True)[:3]
    most = ", ".join(f"{name} {s:.1f} s" for s, name in steps if s >= 0.1)
    total = seconds.get("total", sum(s for s, _ in steps))
    return f"{total:.1f} s" + (f" ({most})" if most else "")


def levels_text(levels: dict[str, Any]) -> str:
    """Concentrations of the levels of groups with their standard errors, and where the documents' comes from."""
    values, errors = levels["concentrations"][:-1], levels.get("errors")
    shown = [f"{g:.3g} ± {e:.2g}" for g, e in zip(values, errors, strict=True)] if errors else [
        f"{g:.3g}" for g in values]
    unknown = "" if errors else "; too few groups for standard errors"
    return f"{', '.join(shown)} (documents: {levels['documents_from']}{unknown})"


def seeds_text(report: dict[str, Any]) -> str:
    """One line for summaries."""
    parts = [f"'{entry['name']}' is topic {entry['topic']} ({entry['kept']} of {len(entry['words'])} words kept)"
             for entry in report.get("topics", [])]
    if report.get("background") is not None:
        parts.append(f"the background is topic {report['background']}")
    return ", ".join(parts)


def preset_text(preset: dict[str, Any]) -> str:
    """The name of a preset, and what was given instead of its settings."""
    given = ", ".join(f"{name}={value}" for name, value in preset.get("overridden", {}).items())
    return str(preset["name"]) + (f"; overridden by {given}" if given else "")

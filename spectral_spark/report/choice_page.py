"""The choice of the number of topics as a picture (SVG) and a small page, without any dependency."""

from collections.abc import Sequence
from html import escape

from spectral_spark.answers.k_recommendation import KChoice, KResult

_WIDTH, _HEIGHT, _LEFT, _TOP = 300, 190, 52, 30
_BLUE, _ORANGE, _INK, _GREY = "#4353c9", "#c2570c", "#22263a", "#9aa0b5"
_PANELS: Sequence[tuple[str, tuple[tuple[str, str, str], ...]]] = (
    ("Held-out loss (nats per word)", (("loss", _BLUE, ""),)),
    ("Topics that come back", (("seed_return", _BLUE, "another seed"), ("half_return", _ORANGE, "other half"))),
    ("Coherence (NPMI)", (("npmi", _BLUE, ""),)),
    ("Exclusivity", (("exclusivity", _BLUE, ""),)),
)
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#22263a;background:#fff;max-width:64rem;margin:2rem auto;"
    "padding:0 1rem}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:right;padding:.3rem .6rem;border-bottom:1px solid #dde0ea}"
    "tr.best{font-weight:600;background:#eef0fb}svg{max-width:100%;height:auto}.scroll{overflow-x:auto}"
)


def choice_svg(choice: KChoice) -> str:
    """Four small panels over k; the recommended k is marked by a line."""
    places = [((at % 2) * (_WIDTH + 20), (at // 2) * (_HEIGHT + 20)) for at in range(len(_PANELS))]
    panels = [
        f'<g transform="translate({left},{top})">{_panel(choice, *panel)}</g>'
        for (left, top), panel in zip(places, _PANELS, strict=True)
    ]
    width, height = 2 * _WIDTH + 20, 2 * _HEIGHT + 20
    told = escape(f"Number of topics: {choice.recommended} is recommended; {choice.reason}", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{told}" font-family="system-ui,sans-serif" font-size="11">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(panels)}</svg>\n'
    )


def _panel(choice: KChoice, title: str, lines: tuple[tuple[str, str, str], ...]) -> str:
    results = choice.results
    values = [float(getattr(result, name)) for name, _, _ in lines for result in results]
    low, high = (0.0, 1.0) if len(lines) > 1 else _limits(values)
    right, bottom = _WIDTH - 14, _HEIGHT - 30

    def x(at: int) -> float:
        return _LEFT + (right - _LEFT) * ((at + 0.5) / len(results))

    def y(value: float) -> float:
        return bottom - (bottom - _TOP) * (value - low) / (high - low)

    parts = [f'<text x="{_LEFT}" y="16" fill="{_INK}" font-weight="600" font-size="12">{escape(title)}</text>']
    for value in (low, (low + high) / 2, high):
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#e3e5ee"/>'
                     f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" fill="{_INK}">'
                     f'{_number(value, len(lines) > 1)}</text>')
    for at, result in enumerate(results):
        if result.k == choice.recommended:
            parts.append(f'<line x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{_TOP}" y2="{bottom}" stroke="{_GREY}" '
                         'stroke-dasharray="4 3"/>')
        parts.append(f'<text x="{x(at):.1f}" y="{bottom + 16}" text-anchor="middle" fill="{_INK}">{result.k}</text>')
    for place, (name, colour, legend) in enumerate(lines):
        points = [(x(at), y(float(getattr(result, name)))) for at, result in enumerate(results)]
        path = " ".join(f"{left:.1f},{top:.1f}" for left, top in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3.5" fill="{colour}"/>' for left, top in points]
        if legend:
            parts.append(f'<text x="{right}" y="{_TOP + 12 + 14 * place}" text-anchor="end" fill="{colour}">'
                         f'{escape(legend)}</text>')
    return "".join(parts)


def _limits(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.1 * (high - low) or max(abs(high), 1.0) * 0.01
    return low - room, high + room


def _number(value: float, percent: bool) -> str:
    return f"{value:.0%}" if percent else f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"


def choice_page(choice: KChoice, corpus: str) -> str:
    """One self-contained page: the recommendation, the picture and the table."""
    heads = ("topics", "asked", "loss", "NPMI", "exclusivity", "another seed", "other half", "seconds")
    rows = "".join(_row(result, result.k == choice.recommended) for result in choice.results)
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>How many topics? {escape(corpus)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>How many topics? {escape(corpus)}</h1>"
        f"<p><strong>{choice.recommended} topics</strong>: {escape(choice.reason)}.</p>{choice_svg(choice)}"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        "<p>A topic comes back if its partner in the other model, matched one to one, is less than 0.3 away "
        "(half the L1 distance).</p>"
        "</body></html>\n"
    )


def _row(result: KResult, best: bool) -> str:
    cells = (
        str(result.k), result.asked, f"{result.loss:.4f}", f"{result.npmi:.3f}", f"{result.exclusivity:.2f}",
        f"{result.seed_return:.0%}", f"{result.half_return:.0%}", f"{result.seconds:.1f}",
    )
    return f"<tr{' class=best' if best else ''}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"

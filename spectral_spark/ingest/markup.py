"""The readable text of HTML, in one pass over the tags."""

import html
import re

_TAG = re.compile(r"<[^<>]*>")
_HIDDEN = ("script", "style")
_HTML_START = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


def looks_like_html(text: str) -> bool:
    """Whether an HTML document begins near the start."""
    return "<" in text[:2000] and _HTML_START.search(text[:2000]) is not None


def plain_text(markup: str) -> str:
    """Text between the tags, without scripts and styles, entities resolved."""
    pieces: list[str] = []
    end, hidden = 0, ""
    for tag in _TAG.finditer(markup):
        if not hidden:
            pieces.append(markup[end : tag.start()])
        end = tag.end()
        name = tag[0][1:-1].strip().lower()
        if hidden:
            if name == f"/{hidden}":
                hidden = ""
        else:
            hidden = next((kind for kind in _HIDDEN if name == kind or name.startswith(f"{kind} ")), "")
    if not hidden:
        pieces.append(markup[end:])
    return html.unescape(" ".join(pieces))

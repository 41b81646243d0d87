"""Bytes to readable text: character sets that may be missing, wrong or hostile, and HTML."""

import codecs
import html
import re

# decoders that are not character sets, or take quadratic time
_REFUSED = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
          (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_WHOLE = {"ascii", "utf-8", "iso8859-1", "cp1252"}
_CONTROL = bytes(code for code in range(32) if code not in (9, 10, 12, 13, 27))
_TAG = re.compile(r"<[^<>]*>")
_HIDDEN = ("script", "style")
_HTML_START = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


def decode_text(data: bytes, charset: str | None = None) -> str:
    """The declared character set if it fits, else UTF-8, else Windows-1252 with a mark for what it lacks."""
    for name in (_known(charset), "utf-8"):
        if name:
            try:
                text = data.decode(name)
            except (UnicodeError, LookupError):
                continue
            # UTF-7 and a few others can spell half characters, which no file can hold
            return text if name in _WHOLE else text.encode("utf-8", "replace").decode()
    return data.decode("cp1252", "replace")


def decode_file(data: bytes) -> str | None:
    """The text of a file without a declared character set; None when it is not text."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(name)
            except UnicodeError:
                return None
    return None if looks_binary(data) else decode_text(data)


def looks_binary(data: bytes) -> bool:
    """Whether a NUL or an unusual share of control bytes says that this is no text."""
    head = data[:8192]
    if b"\0" in head:
        return True
    return (len(head) - len(head.translate(None, _CONTROL))) * 20 > len(head)


def _known(charset: str | None) -> str | None:
    try:
        name = codecs.lookup(charset.strip().strip("\"'")).name if charset else None
    except (LookupError, ValueError):
        return None
    return None if name is None or name.replace("-", "_") in _REFUSED else name


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

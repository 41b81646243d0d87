"""Removes quoted and forwarded mails from a mail: their words belong to other documents, perhaps to held-out ones."""

import re
from bisect import bisect_left

_RULE = r"[-_=*~]"
_SEPARATOR = re.compile(
    rf"^[ \t]*[^\n>]{{0,3}}{_RULE}{{2,}}[ \t]*(?:original (?:message|appointment)|forwarded\b|forward(?:ed)? header|"
    rf"begin forwarded|reply separator|inline attachment follows|urspr\S+ nachricht)"
    r"|^[ \t]*(?:begin forwarded message|forwarded by [^\n]{3,80} on \d)",
    re.IGNORECASE | re.MULTILINE,
)
_WROTE = re.compile(r"\b(?:wrote|writes):[ \t]*$", re.IGNORECASE | re.MULTILINE)
_ON_A_DATE = re.compile(r"[ \t]*on\b.*\d", re.IGNORECASE)
_TO = re.compile(r"^[ \t]*To:", re.MULTILINE)
_SUBJECT = re.compile(r"^[ \t]*(?:Subject|Re):", re.MULTILINE)
_SENDER = re.compile(r"^[ \t]*(?:From|Sent|Date|Return-path):", re.MULTILINE)
_FIELD = re.compile(r"[ \t]*([A-Za-z][A-Za-z-]{1,40}):")
_QUOTED_LINE = re.compile(r"^[ \t]*[A-Za-z]{0,3}>.*\n?", re.MULTILINE)
_ATTRIBUTION = re.compile(
    r"^\s*(?:from|sent|sent by|date|please respond to|cc|bcc|importance|reply-to)\b\s*:?"
    r"|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}:\d{2}(?::\d{2})?\s*[AP]M|^\s*\S+@\S+\s*$",
    re.IGNORECASE,
)
_LONGEST_LINE = 300
_HEADER_SPAN = 6000          # a list of addressees can be long
_BLOCK_SPAN = 1000           # headers without their addressees are short
_ATTRIBUTION_LINES = 9


def own_words(body: str) -> str:
    """What the sender wrote: the text before the first forwarded or quoted mail, without ``>`` lines.

    Parameters
    ----------
    body : text of a mail with ``\\n`` line ends.
    """
    separator = _SEPARATOR.search(body)
    if separator:
        body = body[: separator.start()]
    body = _before_header_block(body)
    body = _before_sender_block(body)
    body = _before_attribution(body)
    return _QUOTED_LINE.sub("", body) if ">" in body else body


def _before_attribution(body: str) -> str:
    """Cut at "On … wrote:", unless ``>`` marks the quoted lines: then the lines between them are the sender's own."""
    kept: list[str] = []
    start = 0
    for match in _WROTE.finditer(body):
        line = _attribution_line(body, match.start())
        if line is None or line < start:
            continue
        kept.append(body[start:line])
        if not body[match.end() : match.end() + 2000].lstrip().startswith(">"):
            return "".join(kept)
        start = match.end()
    kept.append(body[start:])
    return "".join(kept)


def _attribution_line(body: str, end: int) -> int | None:
    """Where "On <date> <somebody>", perhaps folded over two lines, or "<somebody>" begins; None for other text."""
    here = body.rfind("\n", 0, end) + 1
    line = body[here:end]
    if len(line) > _LONGEST_LINE or line.lstrip().startswith(">"):
        return None
    if _ON_A_DATE.match(line) or "@" in line or line.count('"') >= 2:
        above = body.rfind("\n", 0, max(here - 1, 0)) + 1
        folded = here and here - above <= _LONGEST_LINE and _ON_A_DATE.match(body[above:here])
        return above if folded else here
    return None


def _before_header_block(body: str) -> str:
    """Cut at a mail header inside the body (To: … Subject: …), which Notes and Outlook put above a quoted mail."""
    subjects = [match.start() for match in _SUBJECT.finditer(body)]
    for to in _TO.finditer(body) if subjects else ():
        following = bisect_left(subjects, to.end())
        if following == len(subjects):
            break
        end = subjects[following]
        if end - to.end() <= _HEADER_SPAN and _only_addresses(body[to.end() : end]):
            return body[: _attribution_start(body, to.start())]
    return body


def _before_sender_block(body: str) -> str:
    """Cut at consecutive header fields that name sender, date and subject."""
    looked = 0
    for start in _SENDER.finditer(body) if "Subject:" in body else ():
        if start.start() < looked:
            continue
        fields: set[str] = set()
        looked = start.start()
        for line in body[start.start() : start.start() + _BLOCK_SPAN].split("\n"):
            field = _FIELD.match(line)
            if field:
                fields.add(field[1].lower())
            elif not (line[:1].isspace() and line.strip()):          # neither a field nor the continuation of one
                break
            looked += len(line) + 1
        if {"from", "subject"} <= fields and fields & {"sent", "date"}:
            return body[: start.start()]
    return body


def _only_addresses(between: str) -> bool:
    """Whether the lines between To: and Subject: look like addressees rather than like text."""
    lines = [line for line in between.split("\n")[1:] if line.strip()]
    odd = sum(1 for line in lines if not re.search(r"[@/,;]|^\s*(?:b?cc|date|sent|importance|from)\s*:", line, re.I))
    return odd <= 1 + len(lines) // 4


def _attribution_start(body: str, position: int) -> int:
    """Where the lines above To: that name the quoted sender and date begin."""
    lines = body[max(0, position - 2000) : position].split("\n")[:-1]
    start, offset = position, position
    dated = False
    for line in reversed(lines[-_ATTRIBUTION_LINES:]):
        offset -= len(line) + 1
        if not line.strip():
            continue
        if _ATTRIBUTION.search(line):
            start, dated = offset, True
        elif dated and len(line) <= 60 and start - offset == len(line) + 1:
            start, dated = offset, False              # the name above the date
        else:
            break
    return max(start, 0)

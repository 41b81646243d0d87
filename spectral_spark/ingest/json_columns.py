"""The columns of JSON lines, from their first lines, before Spark starts."""

import json
from collections.abc import Iterator

from pyarrow import fs

from spectral_spark.files.directories import resolve

_LINES, _BYTES = 200, 1 << 20        # enough lines, after at least this many bytes, to know what columns there are
_MOST_BYTES = 32 << 20


def first_json_columns(path: str, files: list[str]) -> list[str] | None:
    """The keys of the first lines, in their order; None where these do not decide which columns there are.

    A key may be missing from many lines. Some hundred lines decide, and at least a megabyte of them, or all lines if
    there are fewer. Folders may name columns, too (``year=2026``), so these never decide.
    """
    filesystem, inside = resolve(path)
    if any("=" in name[len(inside) :] for name in files):
        return None
    found: dict[str, None] = {}
    lines = taken = 0
    for data in _lines(filesystem, files):
        taken += len(data)
        if taken > _MOST_BYTES:
            return None
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            lines += 1
            found.update(dict.fromkeys(map(str, value)))
        if lines >= _LINES and taken >= _BYTES:
            break
    return list(found) or None


def _lines(filesystem: fs.FileSystem, files: list[str]) -> Iterator[bytes]:
    """The lines of all files, unpacked, read as far as they are asked for; a line beyond the limit is the last."""
    for name in files:
        try:
            with filesystem.open_input_stream(name) as source:
                rest = source.read(3).removeprefix(b"\xef\xbb\xbf")
                while chunk := source.read(1 << 18):
                    *whole, rest = (rest + chunk).split(b"\n")
                    yield from whole
                    if len(rest) > _MOST_BYTES:
                        yield rest
                        return
                yield rest
        except OSError:
            return

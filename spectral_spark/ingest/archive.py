"""A tar archive as a stream of small files, read as untrusted input.

Nothing is ever unpacked to disk under a name from the archive. Links, devices and other special members are reported,
not followed; a member above the size limit is skipped without being held; long-name records are bounded; an archive
that unpacks to far more than its size is refused; a cut or damaged archive is an error, not an early end. Archives that
were written one after the other into a file are read one after the other; anything else after the end is reported.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, NamedTuple

from spectral_spark.errors import InputError

BLOCK = 512
AFTER_END = "(data after the end of the archive)"
_MAX_NAME_RECORD = 1 << 16
_BOMB_RATIO, _BOMB_FLOOR = 200, 256 << 20
_CHUNK = 1 << 20
_OCTAL = re.compile(rb"[0-7]*")


class Member(NamedTuple):
    """A file of the archive: its bytes, or the reason why they were not taken (``too_large``, ``link``, …)."""

    name: str
    content: bytes | None
    problem: str | None


@dataclass(frozen=True)
class Limits:
    """Bytes that one member, and the whole unpacked archive, may have."""

    member: int
    total: int


class _Source:
    """Exact reads from the unpacked stream, with a budget."""

    def __init__(self, raw: IO[bytes], name: str, limits: Limits) -> None:
        self._raw, self._name, self._limits = raw, name, limits
        magic = raw.read(2)
        raw.seek(0)
        self._stream: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=raw) if magic == b"\x1f\x8b" else raw
        self._unpacked = 0

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes, fewer only at the end."""
        try:
            data = self._stream.read(size)
        except EOFError:
            raise self.cut() from None
        except (zlib.error, gzip.BadGzipFile, OSError) as error:
            raise InputError(f"archive '{self._name}' is damaged ({error}); get it again") from None
        self._unpacked += len(data)
        if self._unpacked > self._limits.total:
            raise InputError(
                f"archive '{self._name}' unpacks to more than {self._limits.total:,} bytes; raise `max_input_bytes` if "
                "you trust it"
            )
        if self._unpacked > _BOMB_FLOOR and self._unpacked > _BOMB_RATIO * max(self._raw.tell(), 1):
            raise InputError(
                f"archive '{self._name}' unpacks to over {_BOMB_RATIO} times its size; refused as a decompression bomb"
            )
        return data

    def exactly(self, size: int) -> bytes:
        data = self.read(size)
        if len(data) < size:
            raise self.cut()
        return data

    def skip(self, size: int) -> None:
        while size:
            size -= len(self.exactly(min(size, _CHUNK)))

    def drain(self) -> None:
        """Read to the end, so that the checksum of the whole is verified."""
        while self.read(_CHUNK):
            pass

    def cut(self) -> InputError:
        return InputError(f"archive '{self._name}' is truncated: it ends in the middle; get it again")

    def foreign(self) -> InputError:
        return InputError(f"'{self._name}' is not a tar or tar.gz archive")

    def broken(self, member: str = "") -> InputError:
        where = f" of '{member}'" if member else ""
        return InputError(f"archive '{self._name}' is damaged (bad member header{where}); get it again")


def members(raw: IO[bytes], name: str, limits: Limits) -> Iterator[Member]:
    """Every member but directories, in archive order.

    Parameters
    ----------
    raw : seekable binary file holding a tar, plain or gzipped.
    name : what to call it in messages.
    limits : sizes above which a member is skipped and the archive refused.
    """
    source = _Source(raw, name, limits)
    overrides: dict[str, str] = {}
    started = ended = False
    while True:
        header = source.read(BLOCK)
        if ended and not header:
            return
        if started and header == bytes(BLOCK if not ended else len(header)):
            ended, overrides = True, {}               # the end mark; another archive may follow it
            continue
        whole = len(header) == BLOCK and _checksum_holds(header)
        if ended and not whole:
            source.drain()
            yield Member(AFTER_END, None, "data_after_end")
            return
        if len(header) < BLOCK:
            raise source.cut() if started else source.foreign()
        if not whole:
            raise source.broken() if started else source.foreign()
        started, ended = True, False
        kind, size = header[156:157], _number(header[124:136])
        if size is None:
            raise source.broken(overrides.get("path") or _plain_name(header))
        if kind in (b"L", b"x", b"K", b"g"):
            _take_override(source, kind, size, overrides)
            continue
        size = _whole(overrides["size"], source) if "size" in overrides else size
        member_name = overrides.get("path") or _plain_name(header)
        overrides = {}
        yield from _take_member(source, member_name, kind, size, limits)


def _take_member(source: _Source, name: str, kind: bytes, size: int, limits: Limits) -> Iterator[Member]:
    if kind == b"5":
        _skip_content(source, size)
        return
    if kind in (b"1", b"2"):
        yield Member(name, None, "link")              # a link has no content, whatever its header says
    elif kind not in (b"0", b"\0", b"7"):
        _skip_content(source, size)
        yield Member(name, None, "special_file")
    elif size > limits.member:
        _skip_content(source, size)
        yield Member(name, None, "too_large")
    else:
        content = source.exactly(size)
        source.skip(-size % BLOCK)
        yield Member(name, content, None)


def _skip_content(source: _Source, size: int) -> None:
    source.skip(size + -size % BLOCK)


def _take_override(source: _Source, kind: bytes, size: int, overrides: dict[str, str]) -> None:
    """GNU long names and POSIX extended headers: only the name and the size of the next member matter."""
    if size > _MAX_NAME_RECORD or kind in (b"K", b"g"):
        _skip_content(source, size)
        return
    data = source.exactly(size)
    source.skip(-size % BLOCK)
    if kind == b"L":
        overrides["path"] = _text(data.split(b"\0", 1)[0])
        return
    while data:
        length_text, _, rest = data.partition(b" ")
        length = _whole(_text(length_text), source)
        if length <= len(length_text) + 1 or length > len(data):
            raise source.broken()
        key, _, value = rest[: length - len(length_text) - 2].partition(b"=")
        if key in (b"path", b"size"):
            overrides[key.decode()] = _text(value)
        data = data[length:]


def _plain_name(header: bytes) -> str:
    name = _text(header[:100].split(b"\0", 1)[0])
    prefix = _text(header[345:500].split(b"\0", 1)[0]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _number(field: bytes) -> int | None:
    """Octal digits, or GNU's big-endian bytes after a byte 0x80; None for anything else, negative numbers included."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    return int(digits or b"0", 8) if _OCTAL.fullmatch(digits) else None


def _whole(text: str, source: _Source) -> int:
    if not text.isdecimal() or len(text) > 20:
        raise source.broken()
    return int(text)


def _checksum_holds(header: bytes) -> bool:
    return _number(header[148:156]) == sum(header[:148]) + 8 * 32 + sum(header[156:])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")

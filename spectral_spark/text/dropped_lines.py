"""Lines that are left out of texts: footers, disclaimers and other lines that recur in thousands of documents.

A model keeps hashes of them, not the lines, because these are text of the documents.
"""

import hashlib
import re
from collections.abc import Iterable

import pyarrow as pa

from spectral_spark.errors import SettingsError
from spectral_spark.files.directories import resolve

LARGEST_FILE = 64 << 20
_COUNTED = re.compile(r"^\d+\t\d+\t")


def plain_line(line: str) -> str:
    """A line as it is compared: lower case, with single spaces, without those at its ends."""
    return " ".join(line.lower().split())


def line_key(line: str) -> str:
    """16 hexadecimal digits that stand for a line, whatever its case and white space; empty for an empty line."""
    plain = plain_line(line)
    return hashlib.blake2b(plain.encode("utf-8", "replace"), digest_size=8).hexdigest() if plain else ""


def load_lines(path: str) -> tuple[str, ...]:
    """The keys of the lines in a file, sorted. Counts that ``find_boilerplate`` put before a line are passed over."""
    filesystem, inside = resolve(path)
    try:
        with filesystem.open_input_stream(inside, compression=None) as source:
            data = source.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise SettingsError(f"lines to drop: '{path}' is larger than {LARGEST_FILE >> 20} MB; give a list of lines")
        lines = data.decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"lines to drop: there is no readable UTF-8 file at '{path}'") from None
    return tuple(sorted({line_key(_COUNTED.sub("", line)) for line in lines if not line.startswith("#")} - {""}))


class LineFilter:
    """Texts without certain lines."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = frozenset(keys)

    def __call__(self, text: str) -> str:
        return "\n".join(line for line in text.split("\n") if line_key(line) not in self.keys)

    def column(self, texts: pa.Array) -> pa.Array:
        """The same for a column of texts; texts that are not UTF-8 stay as they are."""
        return pa.array([None if text is None else self._bytes(text) for text in
                         texts.cast(pa.large_binary()).to_pylist()], pa.large_binary())

    def _bytes(self, text: bytes) -> bytes:
        try:
            return self(text.decode()).encode()
        except UnicodeDecodeError:
            return text

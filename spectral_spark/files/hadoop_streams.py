"""Streams of Hadoop, in the JVM, as Python files."""

import io
from contextlib import suppress
from typing import Any

from spectral_spark.files.java_errors import java_errors

_CHUNK = 8 << 20                     # bytes per call: the bridge to the JVM copies them several times


class HadoopReader(io.RawIOBase):
    """An input stream of Hadoop as a Python file."""

    def __init__(self, stream: Any, path: str, size: int) -> None:
        self._stream, self._path, self._size, self._at = stream, path, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        rest = max(self._size - self._at, 0)
        wanted = rest if size is None or size < 0 else min(size, rest)
        parts: list[bytes] = []
        with java_errors(self._path):
            if wanted and self._stream.getPos() != self._at:
                self._stream.seek(self._at)
            while wanted:
                part = bytes(self._stream.readNBytes(min(wanted, _CHUNK)))
                if not part:
                    raise OSError(f"'{self._path}' ended early: the connection was cut, or the file has changed")
                parts.append(part)
                self._at += len(part)
                wanted -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        if not self.closed:
            with suppress(Exception):
                self._stream.close()
        super().close()


class HadoopWriter(io.RawIOBase):
    """An output stream of Hadoop as a Python file.

    After an error the stream is aborted, not closed: an object store would show a truncated file.
    """

    def __init__(self, stream: Any, path: str) -> None:
        self._stream, self._path, self._failed = stream, path, False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        try:
            with java_errors(self._path):
                for start in range(0, len(view), _CHUNK):
                    self._stream.write(bytes(view[start : start + _CHUNK]))
        except BaseException:
            self._failed = True
            raise
        return len(view)

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        if self._failed:
            with suppress(Exception):
                self._stream.abort()
            return
        with java_errors(self._path):
            self._stream.close()

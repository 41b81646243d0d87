"""What went wrong, in one sentence, and the exit code it deserves."""

import errno
import re

from spectral_spark.errors import SpectralError

USAGE, INTERNAL, INTERRUPTED = 2, 1, 130

_OURS = re.compile(r"spectral_spark\.errors\.(\w+Error): (.+)")
_OUT_OF_MEMORY = re.compile(r"java\.lang\.OutOfMemoryError|MemoryError|exit code 137|Container killed")
_NO_SPACE = "no space left on device; free some, or point the output and spark.local.dir at a larger disk"


def explain(error: BaseException) -> tuple[str, int]:
    """A message for people and the exit code.

    Errors raised on purpose say it themselves, also when they come back from a worker inside one of Spark's. Of the
    others, those with a known cause get its name; the rest are reported as what they are.
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; nothing half-made was left behind", INTERRUPTED
    text = _whole_text(error)
    if "No space left on device" in text or getattr(error, "errno", None) == errno.ENOSPC:
        return _NO_SPACE, INTERNAL                          # first: a full disk breaks everything else in some way
    if isinstance(error, SpectralError):
        return str(error), USAGE
    if ours := _OURS.search(text):
        return ours[2].strip(), USAGE
    if _OUT_OF_MEMORY.search(text):
        return ("out of memory; give Spark more (--spark-conf spark.driver.memory=8g, or "
                "spark.executor.memory=8g on a cluster), or use a smaller --vocab-size or --k"), INTERNAL
    if type(error).__name__ in ("Py4JNetworkError", "Py4JError") or "JAVA_GATEWAY_EXITED" in text:
        return f"Spark stopped or could not start: {_first_line(text)}", INTERNAL
    if isinstance(error, PermissionError | FileNotFoundError | NotADirectoryError | IsADirectoryError):
        where = f" '{error.filename}'" if error.filename else ""
        return f"{error.strerror or 'cannot use'}:{where}", USAGE
    return f"unexpected {type(error).__name__}: {_first_line(text)}", INTERNAL


def _whole_text(error: BaseException) -> str:
    parts: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(parts) < 10:
        parts.append(str(seen))
        seen = seen.__cause__ or seen.__context__
    return "\n".join(parts)


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return line if len(line) <= 300 else line[:300] + "…"

"""Turns errors into one sentence for the user and an exit code."""

import errno
import re

from spectral_spark.cli.messages import with_flags
from spectral_spark.errors import INSTALL_SPARK, SpectralError

USAGE, INTERNAL, INTERRUPTED = 2, 1, 130

_OURS = re.compile(r"spectral_spark\.errors\.(\w+Error): (.+)")
_FILE = re.compile(
    r"((?:[a-z0-9]+:)?/[^\s'\"]*?\.(?:parquet|json|csv|txt)[\w.]*|(?:file|hdfs|s3a?|abfss?|gs):/+[^\s'\",]+)"
)

# Spark wraps the cause in long messages of its own: the first pattern that is found anywhere in them decides.
_KNOWN: tuple[tuple[str, str, int], ...] = (
    (r"No space left on device|Disk quota exceeded",
     "no space left on device; free some, or point the output and spark.local.dir at a larger disk", INTERNAL),
    (r"java\.lang\.OutOfMemoryError|MemoryError|exit code 137|Container killed|ArrowMemoryError|malloc of size",
     "out of memory; give Spark more (--spark-conf spark.driver.memory=8g, or spark.executor.memory=8g on a cluster), "
     "or use a smaller --vocab-size or --k", INTERNAL),
    (r"is not a Parquet file|not a parquet file|Parquet magic bytes|Could not open Parquet|Unexpected end of stream|"
     r"CANNOT_READ_FILE_FOOTER|could not read (page|footer)|corrupt.*[Pp]arquet|FAILED_READ_FILE|EOFException",
     "{file} is damaged or not Parquet; restore it, or make the directory it is in again", USAGE),
    (r"PARQUET_COLUMN_DATA_TYPE_MISMATCH|SchemaColumnConvertNotSupportedException|CANNOT_MERGE_SCHEMAS|"
     r"Failed to merge incompatible",
     "{file} has columns of another type than the files beside it; it belongs to something else: restore the right "
     "file, or make the directory it is in again", USAGE),
    (r"PATH_NOT_FOUND|Path does not exist|FileNotFoundException|FAILED_READ_FILE.FILE_NOT_EXIST",
     "{file} is not there, or was removed while it was read", USAGE),
    (r"UnknownHostException|Wrong FS|No FileSystem for scheme|UnsupportedFileSystemException",
     "this file system cannot be reached: {line}; check the address, and that Spark has the connector for it", USAGE),
    (r"AccessControlException|AccessDeniedException|Permission denied|Forbidden.*403|403 Forbidden",
     "permission denied: {line}", USAGE),
    (r"AWS Error |google::cloud::Status",
     "the store refused, or the connection to it was lost: {line}; check the network and the credentials, then run the "
     "same command again", INTERNAL),
    (r"All masters are unresponsive|Could not connect to|Connection refused|Failed to connect to|"
     r"Application has been killed|ExecutorLostFailure|worker lost|Lost executor",
     "the connection to Spark's master or to an executor was lost: {line}; check --master and that the cluster is up, "
     "then run the same command again", INTERNAL),
    (r"JAVA_GATEWAY_EXITED|Py4JNetworkError|Answer from Java side is empty|SparkContext was shut down|"
     r"cannot call methods on a stopped SparkContext|Cannot call methods on a stopped SparkContext",
     "Spark stopped or could not start: {line}; Spark's log says why", INTERNAL),
    (r"CAST_INVALID_INPUT|CAST_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE|DIVIDE_BY_ZERO|ARITHMETIC_OVERFLOW|"
     r"INVALID_ARRAY_INDEX\w*|CANNOT_PARSE_\w+",
     "a condition on columns cannot be worked out for every document ({found}); compare text with text in quotation "
     "marks, numbers with numbers such as 4.0, or write try_cast(COLUMN as double)", USAGE),
    (r"UNRESOLVED_COLUMN|cannot resolve",
     "a column is missing: {line}", USAGE),
)
_PATH_PROBLEMS = {
    errno.ENAMETOOLONG: "the path is too long for the file system",
    errno.ELOOP: "symbolic links lead in a circle",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOENT: "No such file or directory",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EISDIR: "it is a directory, not a file",
}


def explain(error: BaseException) -> tuple[str, int]:
    """A message for people and the exit code.

    Our own errors already have a message, even if a worker raised them and Spark wrapped them. Other errors with a
    known cause get a sentence about the cause, the file and the remedy; all others are shown as they are.
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; nothing half-made was left behind", INTERRUPTED
    text = _whole_text(error)
    if "No space left on device" in text or getattr(error, "errno", None) == errno.ENOSPC:
        return _KNOWN[0][1], INTERNAL                       # first: a full disk breaks everything else in some way
    if isinstance(error, SpectralError):
        return with_flags(str(error)), USAGE
    if ours := _OURS.search(text):
        return with_flags(ours[2].strip()), USAGE
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "pyspark":
        return f"this needs Spark, and pyspark cannot be imported: {INSTALL_SPARK}", USAGE
    for found in (_path_problem(error), _known_problem(error, text)):
        if found:
            return found
    return f"unexpected {_kind(error)}: {_telling_line(text)}", INTERNAL


def _path_problem(error: BaseException) -> tuple[str, int] | None:
    if isinstance(error, ValueError) and re.search(r"embedded null (byte|character)|embedded NUL", str(error)):
        return "a path has a NUL character in it; give another one", USAGE
    if isinstance(error, OSError) and error.errno in _PATH_PROBLEMS:
        where = f" '{error.filename}'" if error.filename else f" {error.strerror}"
        return f"{_PATH_PROBLEMS[error.errno]}:{where}", USAGE
    return None


def _known_problem(error: BaseException, text: str) -> tuple[str, int] | None:
    said = f"{type(error).__name__}\n{text}"
    for pattern, message, code in _KNOWN:
        if match := re.search(pattern, said):
            line = _line_with(said, match) or _telling_line(text)
            return message.replace("{file}", _file_in(text)).replace("{found}", match[0]).replace("{line}", line), code
    return None


def _file_in(text: str) -> str:
    """The file that a message of Spark or Arrow names, or a stand-in."""
    found = _FILE.search(text)
    return f"'{found[1].rstrip('.,;:)')}'" if found else "a file of the input"


def _line_with(text: str, match: re.Match[str]) -> str:
    """The line of the message that the pattern was found in, shortened; empty for the name of the class alone."""
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    line = _shortened(text[start : end if end >= 0 else len(text)])
    return "" if start == 0 else line


def _kind(error: BaseException) -> str:
    """The class of an error; of one of Java's, its own instead of that of the bridge."""
    java = getattr(error, "java_exception", None)
    if java is None:
        return type(error).__name__
    found = re.search(r"\b(?:\w+\.)+(\w+(?:Exception|Error))\b", str(error))
    return f"Java {found[1]}" if found else "failure of Spark"


def _whole_text(error: BaseException) -> str:
    parts: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(parts) < 10:
        parts.append(str(seen))
        seen = seen.__cause__ or seen.__context__
    return "\n".join(parts)


def _telling_line(text: str) -> str:
    """The first line that says something: not "An error occurred while calling o123.parquet."."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = (line for line in lines if not re.match(r"An error occurred while calling|Traceback \(most recent", line))
    return _shortened(next(telling, lines[0] if lines else "no message"))


def _shortened(line: str, most: int = 300) -> str:
    line = line.strip().removeprefix(": ")
    return line if len(line) <= most else line[:most] + "…"

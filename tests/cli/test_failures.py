"""Every way to fail has one message and its exit code."""

import errno

import pytest

from spectral_spark.cli.failures import explain
from spectral_spark.errors import CapacityError, InputError, SettingsError


@pytest.mark.parametrize(("error", "message", "code"), [
    (InputError("tree: 37 nulls"), "tree: 37 nulls", 2),
    (SettingsError("k is 0"), "k is 0", 2),
    (CapacityError("needs 9 GiB"), "needs 9 GiB", 2),
    (KeyboardInterrupt(), "interrupted", 130),
    (OSError(errno.ENOSPC, "No space left on device"), "no space left on device; free some", 1),
    (RuntimeError("Job aborted: java.io.IOException: No space left on device\n at ..."), "no space left on device", 1),
    (RuntimeError("java.lang.OutOfMemoryError: Java heap space"), "out of memory; give Spark more", 1),
    (RuntimeError("first\nsecond"), "unexpected RuntimeError: first", 1),
    (FileNotFoundError(errno.ENOENT, "No such file or directory", "x.csv"), "No such file or directory: 'x.csv'", 2),
])
def test_error_becomes_message_and_code(error: BaseException, message: str, code: int) -> None:
    said, given = explain(error)
    assert said.startswith(message)
    assert "\n" not in said
    assert given == code


def test_our_error_from_a_worker_is_found_inside_sparks() -> None:
    text = ("An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File ...\n"
            "spectral_spark.errors.InputError: document 'a/3': count -1\n\nat org.apache.spark...")
    assert explain(RuntimeError(text)) == ("document 'a/3': count -1", 2)


def test_the_cause_of_an_error_counts_too() -> None:
    error = RuntimeError("write failed")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert explain(error)[0].startswith("no space left")

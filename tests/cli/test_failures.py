"""Every way to fail has one message and its exit code."""

import errno
from pathlib import Path
from typing import Any

import pytest

from spectral_spark.cli.failures import explain
from spectral_spark.cli.run import main
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
    (OSError(errno.ENAMETOOLONG, "File name too long", "x" * 300), "the path is too long for the file system: 'xxx", 2),
    (ValueError("embedded null byte"), "a path has a NUL character in it", 2),
    (MemoryError(), "out of memory; give Spark more", 1),
    (RuntimeError("An error occurred while calling o1.count.\n: java.lang.IllegalStateException: no\n\tat x.Y(Z.java)"),
     "unexpected RuntimeError: java.lang.IllegalStateException: no", 1),
    (RuntimeError("An error occurred while calling o9.save.\n: java.net.ConnectException: Connection refused\n\tat x"),
     "the connection to Spark's master or to an executor was lost: java.net.ConnectException", 1),
    (OSError("When reading 'model' in bucket 'data': AWS Error NETWORK_CONNECTION: Failed to connect to 127.0.0.1:1"),
     "the store refused, or the connection to it was lost: When reading 'model'", 1),
    (RuntimeError("Py4JNetworkError: Answer from Java side is empty"), "Spark stopped or could not start", 1),
    (RuntimeError("[PATH_NOT_FOUND] Path does not exist: file:/data/mail/part-0.parquet. SQLSTATE: 42K03"),
     "'file:/data/mail/part-0.parquet' is not there", 2),
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


def test_sparks_complaint_about_a_file_names_it_and_the_remedy(spark: Any, tmp_path: Path) -> None:
    spark.range(100).write.parquet(str(tmp_path / "whole"))
    part = next((tmp_path / "whole").glob("*.parquet"))
    for name, content in (("cut", part.read_bytes()[:40]), ("foreign", b"not Parquet at all, nor anything else")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part-0.parquet").write_bytes(content)
        with pytest.raises(Exception, match=r"(?i)parquet") as caught:
            spark.read.schema("id long").parquet(str(tmp_path / name)).agg({"id": "sum"}).collect()
        said, code = explain(caught.value)
        assert f"{tmp_path}/{name}/part-0.parquet' is damaged or not Parquet" in said, said
        assert "\n" not in said
        assert code == 2
    with pytest.raises(Exception, match=r"(?i)nothing") as caught:
        spark.read.parquet(str(tmp_path / "nothing")).collect()
    said, code = explain(caught.value)
    assert "nothing' is not there" in said, said
    assert code == 2


def test_a_file_name_cannot_drive_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", str(tmp_path / "\x1b]0;owned\x07")]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert r"\x1b]0;owned\x07" in said

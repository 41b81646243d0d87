"""The file of frequent lines takes the place of nothing that must stay."""

import stat
from pathlib import Path

import pytest

from spectral_spark.cli import main
from spectral_spark.errors import InputError
from spectral_spark.ingest.boilerplate_file import check_boilerplate_file, write_boilerplate_file
from spectral_spark.ingest.ingest_settings import IngestSettings


def settings(tmp_path: Path, report: Path, overwrite: bool = False) -> IngestSettings:
    return IngestSettings(source="folders", input=str(tmp_path / "notes"), output=str(tmp_path / "corpus"),
                          find_boilerplate=str(report), overwrite=overwrite)


@pytest.fixture(autouse=True)
def notes(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.txt").write_text("precious\n")
    (tmp_path / "mine.txt").write_text("precious\n")
    (tmp_path / "link").symlink_to(tmp_path / "notes" / "one.txt")


@pytest.mark.parametrize(("place", "message"), [
    ("notes/one.txt", "lies inside the input"), ("link", "lies inside the input"), ("notes", "is the input"),
    ("corpus/lines.txt", "lies inside the output"), ("corpus", "is the output"),
    ("mine.txt", "exists; choose another path, or remove it yourself: it is not a file of such lines"),
])
@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_there_stays(
    tmp_path: Path, place: str, message: str, overwrite: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=message):
        check_boilerplate_file(settings(tmp_path, tmp_path / place, overwrite))
    words = ["ingest", "--source", "folders", "--input", str(tmp_path / "notes"), "--output", str(tmp_path / "corpus")]
    words += ["--find-boilerplate", str(tmp_path / place), *(["--overwrite"] if overwrite else [])]
    assert main(words) == 2                                 # told before Spark starts
    assert f"--find-boilerplate '{tmp_path / place}' {message}" in capsys.readouterr().err
    assert (tmp_path / "notes" / "one.txt").read_text() == (tmp_path / "mine.txt").read_text() == "precious\n"


def test_an_earlier_file_is_replaced_on_demand_and_is_its_owners_alone(tmp_path: Path) -> None:
    report = tmp_path / "new" / "lines.txt"
    check_boilerplate_file(settings(tmp_path, report))
    write_boilerplate_file(str(report), ["3\t1\ta line of many documents"])
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    with pytest.raises(InputError, match="exists; choose another path, or pass --overwrite"):
        check_boilerplate_file(settings(tmp_path, report))
    check_boilerplate_file(settings(tmp_path, report, overwrite=True))
    assert [path.name for path in report.parent.iterdir()] == ["lines.txt"]

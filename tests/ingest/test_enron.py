import email
import io
import os
import tarfile
from itertools import islice
from pathlib import Path

import pytest

from spectral_spark.errors import InputError
from spectral_spark.ingest.archive import Limits, Member, members

from .conftest import Ingest, fingerprint_of, mail, paths_by_document, tar_bytes, words_by_document

FORWARDED = "own comment\n---------------------- Forwarded by Ann Lee/HOU on 03/14/2001\nsecret words of others\n"


def write(tmp_path: Path, files: list[tuple[str, bytes]]) -> Path:
    path = tmp_path / "mail.tar.gz"
    path.write_bytes(tar_bytes(files))
    return path


def traps() -> list[tuple[str, bytes]]:
    return [
        ("maildir/lee-a/sent/1.", mail("pipeline capacity question", subject="Storage report")),
        ("maildir/lee-a/sent/sent/2.", mail(FORWARDED)),
        ("maildir/ray-b/inbox/ene_portland/7.", mail("pipeline   CAPACITY\r\nquestion\r\n", sender="x@mail.enron.com")),
        ("maildir/ray-b/inbox/8.", mail("weather outlook", sender="bob@example.com")),
        ("maildir/ray-b/inbox/9.", mail("nothing known about sender", sender="pep <performance.>")),
        ("maildir/ray-b/inbox/10.", mail("spoof attempt", sender="x@notenron.com")),
        ("maildir/ray-b/inbox/11.", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 10),
        ("maildir/ray-b/inbox/12.", mail("12 34 the of and")),
        ("maildir/ray-b/inbox/13.", mail("-----Original Message-----\nonly others here")),
        ("maildir/ray-b/inbox/14.", mail("own comment\n-----Original Message-----\nother others")),
        ("maildir/ray-b/inbox/15.", mail("x" * 5000)),
        ("maildir/ray-b/inbox/16.", mail("Stra=DFe", Content_Transfer_Encoding="quoted-printable",
                                         Content_Type="text/plain; charset=iso-8859-1")),
        ("maildir/../../etc/17.", mail("escape attempt")),
        ("/maildir/abs-x/inbox/18.", mail("absolute attempt")),
        ("readme.txt", b"not in a mailbox"),
        ("maildir/ray-b/inbox/8.", mail("second member same name", sender="bob@example.com")),
    ]


def test_each_trap_of_the_archive(run_ingest: Ingest, tmp_path: Path) -> None:
    corpus = run_ingest("enron", write(tmp_path, traps()), max_document_bytes=4000)
    assert words_by_document(corpus) == {
        "lee-a/sent/1.": {"storage": 1, "report": 1, "pipeline": 1, "capacity": 1, "question": 1},
        "lee-a/sent/sent/2.": {"comment": 1},
        "ray-b/inbox/8.": {"weather": 1, "outlook": 1},
        "ray-b/inbox/8.#2": {"member": 1, "name": 1},
        "ray-b/inbox/10.": {"spoof": 1, "attempt": 1},
        "ray-b/inbox/16.": {"straße": 1},
    }
    assert paths_by_document(corpus) == {
        "lee-a/sent/1.": ["internal", "lee-a"], "lee-a/sent/sent/2.": ["internal", "lee-a"],
        "ray-b/inbox/8.": ["external", "ray-b"], "ray-b/inbox/8.#2": ["external", "ray-b"],
        "ray-b/inbox/10.": ["external", "ray-b"], "ray-b/inbox/16.": ["internal", "ray-b"],
    }
    assert corpus.manifest["read"] == 16
    assert corpus.manifest["dropped"] == {
        "duplicate": 1, "duplicate_text": 1, "empty": 2, "null_path": 1, "too_large": 1, "unreadable": 2,
        "unsafe_name": 2}
    assert fingerprint_of(corpus) == corpus.fingerprint
    assert {path.name for path in tmp_path.iterdir()} == {"mail.tar.gz", "corpus"}          # nothing beside the output
    assert {path.name for path in (tmp_path / "corpus").iterdir()} == {"documents", "vocabulary", "corpus.json"}
    said = (tmp_path / "corpus" / "corpus.json").read_text()
    assert "pipeline" not in said                                                           # mail is personal
    assert "lee-a" not in said


def test_the_unpacked_maildir_gives_the_same_corpus(run_ingest: Ingest, tmp_path: Path) -> None:
    files = [(name, content) for name, content in traps()[:12] if "etc" not in name]
    root = tmp_path / "unpacked"
    for name, content in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    packed = run_ingest("enron", write(tmp_path, files), "packed")
    unpacked = run_ingest("enron", root / "maildir", "other")
    assert unpacked.fingerprint == packed.fingerprint
    assert unpacked.manifest["dropped"] == packed.manifest["dropped"]


def test_links_are_counted_not_followed(run_ingest: Ingest, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(mail("secret content"))
    buffer = io.BytesIO(tar_bytes([("maildir/a/in/1.", mail("plain content"))], "w"))
    with tarfile.open(fileobj=buffer, mode="a") as archive:
        link = tarfile.TarInfo("maildir/a/in/2.")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        archive.addfile(link)
    packed = tmp_path / "mail.tar"
    packed.write_bytes(buffer.getvalue())
    folder = tmp_path / "maildir" / "a" / "in"
    folder.mkdir(parents=True)
    (folder / "1.").write_bytes(mail("plain content"))
    os.symlink(secret, folder / "2.")
    os.symlink(tmp_path, folder / "loop")
    archived = run_ingest("enron", packed, "one")
    walked = run_ingest("enron", tmp_path / "maildir", "two")
    assert archived.manifest["dropped"] == {"link": 1}
    assert walked.manifest["dropped"] == {"link": 2}
    assert words_by_document(archived) == words_by_document(walked) == {"a/in/1.": {"plain": 1, "content": 1}}


def refused(run_ingest: Ingest, tmp_path: Path, given: Path, message: str) -> None:
    there = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match=message):
        run_ingest("enron", given)
    assert {path.name for path in tmp_path.iterdir()} == there


def test_damaged_inputs_give_one_message_and_leave_nothing(run_ingest: Ingest, tmp_path: Path) -> None:
    whole = tar_bytes([(f"maildir/a/in/{i}.", mail(f"some text {i * i}" * 9)) for i in range(300)])
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    refused(run_ingest, tmp_path, cut, "cut.tar.gz' is truncated")
    binary = tmp_path / "binary.bin"
    binary.write_bytes(bytes(range(256)) * 100)
    refused(run_ingest, tmp_path, binary, "not a tar")
    single = tmp_path / "single.eml"
    single.write_bytes(mail("word " * (10 << 20)))
    refused(run_ingest, tmp_path, single, "not a tar")
    huge = tmp_path / "huge.tar.gz"
    huge.write_bytes(tar_bytes([("maildir/a/in/1.", mail("word " * (10 << 20)))]))
    refused(run_ingest, tmp_path, huge, "no document .* can be used: 1 too large")
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(run_ingest, tmp_path, empty, "contains no files")
    refused(run_ingest, tmp_path, tmp_path / "absent", "there is nothing at")


def slice_of(archive: Path, start: int, stop: int) -> list[Member]:
    with archive.open("rb") as raw:
        return list(islice(members(raw, archive.name, Limits(1 << 30, 1 << 40)), start, stop))


def plain_body(content: bytes) -> str:
    """The body by the standard library's own parser."""
    payload = email.message_from_bytes(content).get_payload(decode=True)
    assert isinstance(payload, bytes)
    return " ".join(payload.decode("latin-1").lower().split())


@pytest.mark.data
def test_a_slice_of_the_real_archive(run_ingest: Ingest, real_data: Path, tmp_path: Path) -> None:
    mails = slice_of(real_data / "enron" / "enron_mail.tar.gz", 40_000, 43_000)
    given = write(tmp_path, [(member.name, member.content or b"") for member in mails])
    corpus = run_ingest("enron", given, min_documents=5, min_tokens=3, holdout=100)
    assert corpus.manifest["read"] == 3000
    assert corpus.manifest["documents"]["test"] == 100
    bodies = len({plain_body(member.content or b"") for member in mails})
    assert abs(corpus.manifest["dropped"]["duplicate"] - (3000 - bodies)) <= 5     # html bodies are compared as text
    assert corpus.manifest["dropped"].get("unreadable", 0) == 0
    owners = {member.name.split("/")[1] for member in mails}
    for path in paths_by_document(corpus).values():
        assert path[0] in ("internal", "external")
        assert path[1] in owners
    assert not {"forwarded", "original"} <= set(corpus.vocabulary[:200])


@pytest.mark.data
def test_the_archive_is_what_its_readme_counts(real_data: Path) -> None:
    with (real_data / "enron" / "enron_mail.tar.gz").open("rb") as raw:
        found = members(raw, "enron", Limits(1 << 20, 1 << 40))
        bodies = [hash(_normal_body(member)) for member in found]
    assert len(bodies) == 130_991
    assert len(set(bodies)) == 100_541


def _normal_body(member: Member) -> bytes:
    assert member.content is not None
    return b" ".join(member.content.replace(b"\r\n", b"\n").partition(b"\n\n")[2].lower().split())

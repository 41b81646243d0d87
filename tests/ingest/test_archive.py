import gzip
import io
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from spectral_spark.errors import InputError
from spectral_spark.ingest.archive import AFTER_END, Limits, Member, members

from .conftest import tar_bytes

LIMITS = Limits(member=1 << 20, total=1 << 40)


def read(data: bytes, limits: Limits = LIMITS) -> list[Member]:
    return list(members(io.BytesIO(data), "a.tar.gz", limits))


@pytest.mark.parametrize("mode", ["w:gz", "w"])
@pytest.mark.parametrize("layout", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_agrees_with_the_standard_library(mode: str, layout: int) -> None:
    names = ["a/1.", "b/ümlaut.", "c/" + "deep/" * 12 + "2.", "d/empty."]
    if layout != tarfile.USTAR_FORMAT:
        names += ["long/" + "n" * 180 + "/" + "m" * 150]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=layout) as archive:       # type: ignore[call-overload]
        folder = tarfile.TarInfo("a")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for i, name in enumerate(names):
            member = tarfile.TarInfo(name)
            member.size = 0 if "empty" in name else 700 * i + 1
            archive.addfile(member, io.BytesIO(bytes([65 + i]) * member.size))
    found = read(buffer.getvalue())
    assert [member.name for member in found] == names
    assert [member.content for member in found] == [
        bytes([65 + i]) * (0 if "empty" in name else 700 * i + 1) for i, name in enumerate(names)]


def test_links_and_devices_are_reported_and_never_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        kinds = {"s": tarfile.SYMTYPE, "h": tarfile.LNKTYPE, "f": tarfile.FIFOTYPE, "c": tarfile.CHRTYPE}
        for name, kind in kinds.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, str(secret)
            archive.addfile(member)
        member = tarfile.TarInfo("ok")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"ok"))
    assert read(buffer.getvalue()) == [
        Member("s", None, "link"), Member("h", None, "link"), Member("f", None, "special_file"),
        Member("c", None, "special_file"), Member("ok", b"ok", None)]


def test_a_member_above_the_limit_is_skipped_without_being_held() -> None:
    data = tar_bytes([("big", bytes(64 << 20)), ("small", b"x")], "w")
    stream = io.BytesIO(data)
    tracemalloc.start()
    found = list(members(stream, "a.tar", LIMITS))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [Member("big", None, "too_large"), Member("small", b"x", None)]
    assert peak < 16 << 20


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("mode", ["w:gz", "w"])
def test_a_cut_archive_is_an_error(share: float, mode: str) -> None:
    import random

    noise = random.Random(0)
    data = tar_bytes([(f"{i}.", noise.randbytes(2000)) for i in range(200)], mode)
    if mode == "w":
        data = data.rstrip(b"\0") + bytes(512)
    with pytest.raises(InputError, match=r"truncated|not a tar"):
        read(data[: int(len(data) * share)])


def test_a_flipped_byte_is_an_error() -> None:
    data = bytearray(tar_bytes([(f"{i}.", b"some text " * 50) for i in range(200)]))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(InputError, match=r"damaged|truncated"):
        read(bytes(data))


@pytest.mark.parametrize("data", [
    pytest.param(b"", id="empty"), pytest.param(b"hello", id="short"), pytest.param(b"x" * 5000, id="text"),
    pytest.param(bytes(5000), id="zeros"), pytest.param(gzip.compress(b"hello" * 1000), id="gzip of no tar"),
    pytest.param(b"\x1f\x8b garbage garbage garbage", id="broken gzip"),
])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"a\.tar\.gz.*(not a tar|damaged|truncated)"):
        read(data)


def test_a_decompression_bomb_is_refused() -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as stream:
        stream.write(tar_bytes([("a", b"x")], "w")[:1024])
        header = tarfile.TarInfo("bomb")
        header.size = 2 << 30
        stream.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(512):
            stream.write(bytes(1 << 20))
    with pytest.raises(InputError, match="bomb"):
        read(packed.getvalue())


def test_the_total_is_bounded() -> None:
    data = tar_bytes([(f"{i}", b"x" * 1000) for i in range(100)])
    with pytest.raises(InputError, match="unpacks to more than"):
        read(data, Limits(1 << 20, 50_000))


def test_huge_name_records_are_skipped() -> None:
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 8 << 20
    data = header.tobuf(tarfile.GNU_FORMAT) + b"n" * (8 << 20) + tar_bytes([("short", b"x")], "w")
    assert read(data) == [Member("short", b"x", None)]


@pytest.mark.parametrize("size", [b"-0000000001\0", b"0o000000017\0", b"0000000_017\0", b"+0000000017\0",
                                  b"\xff" * 12])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.GNUTYPE_LONGNAME])
def test_sizes_that_are_no_numbers_are_refused_with_the_member(size: bytes, kind: bytes) -> None:
    member = tarfile.TarInfo("second")
    member.type = kind
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[124:136], header[148:156] = size, b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    data = tar_bytes([("first", b"x")], "w")[:1024] + header + bytes(4096)
    with pytest.raises(InputError, match=r"a\.tar\.gz' is damaged \(bad member header of 'second/?'\)"):
        read(data)


def test_sizes_in_bytes_are_read() -> None:
    header = bytearray(tarfile.TarInfo("one").tobuf(tarfile.GNU_FORMAT))
    header[124:136], header[148:156] = b"\x80" + bytes(10) + b"\x05", b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    assert read(bytes(header) + b"hello" + bytes(507 + 1024)) == [Member("one", b"hello", None)]


@pytest.mark.parametrize("mode", ["w:gz", "w"])
def test_archives_written_one_after_the_other_are_all_read(mode: str) -> None:
    """``cat a.tar b.tar``, and the same of two gzips, which is a gzip of two members."""
    one, two = tar_bytes([("a", b"1"), ("b", b"2")], mode), tar_bytes([("c", b"3")], mode)
    assert [(member.name, member.content) for member in read(one + two + one)] == [
        ("a", b"1"), ("b", b"2"), ("c", b"3"), ("a", b"1"), ("b", b"2")]
    with pytest.raises(InputError, match="truncated"):
        read(one + tar_bytes([("c", b"3" * 5000)], "w")[:2000] if mode == "w" else (one + two)[:-10])


@pytest.mark.parametrize("rest", [b"x", b"not a header" * 100, bytes(3) + b"late" + bytes(600)])
def test_other_data_after_the_end_is_reported(rest: bytes) -> None:
    found = read(tar_bytes([("a", b"1")], "w") + rest)
    assert found == [Member("a", b"1", None), Member(AFTER_END, None, "data_after_end")]
    assert read(tar_bytes([("a", b"1")], "w") + bytes(700)) == [Member("a", b"1", None)]

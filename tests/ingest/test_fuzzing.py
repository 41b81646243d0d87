"""Whatever bytes come in, the readers count documents or raise an error of ours; each test has a budget of examples."""

import io
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spectral_spark.errors import SpectralError
from spectral_spark.ingest.archive import Limits, members
from spectral_spark.ingest.count_words import CountRules, WordCounter
from spectral_spark.ingest.readers import amazon, enron, folders
from spectral_spark.text.text_recipe import TextRecipe
from spectral_spark.text.tokeniser import load_stop_words

from .conftest import mail, tar_bytes

RECIPE = TextRecipe(tuple(load_stop_words("english")), 3)
SEEDS = (
    b"<html><body>some words &#233; &amp; <script>x</script></body></html>",
    mail("body text =E9", Content_Type="text/plain; charset=utf-7", Content_Transfer_Encoding="quoted-printable"),
    mail("--b\nContent-Type: text/html\n\n<p>x\n--b--\n", Content_Type="multipart/mixed; boundary=b"),
    mail("aGVsbG8=", subject="=?utf-8?b?w6k=?=", Content_Transfer_Encoding="base64"),
    b"<title>\nfine\n</title>\n<review_text>\ngood &#x1F600; book\n</review_text>\n",
    b"good:3 book:2 very_good:1 #label#:positive", b"\xff\xfeh\x00i\x00", b"\xef\xbb\xbftext",
)
PIECES = (b"&#" + b"9" * 5000 + b";", b"\x00", b"\xd8\x00", b"=?x?b?", b"charset=", b"<", b":999999999 a", b"\r\n\r\n",
          b"Content-Type: multipart/mixed; boundary=\n\n", "\u0301".encode() * 50, "e\u0301ﬁ".encode(),
          b"%", b"\x1b[2J")
BUDGET: dict[str, Any] = {"max_examples": 300, "deadline": None, "derandomize": True,
                          "suppress_health_check": list(HealthCheck)}


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A valid document with bytes changed, cut or put in, or any bytes at all."""
    data = bytearray(draw(st.one_of(st.sampled_from(SEEDS), st.binary(max_size=300))))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 3))] = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=8)))
    return bytes(data)


def raw_batch(contents: list[bytes]) -> pa.RecordBatch:
    names = [f"a/b/{i}" for i in range(len(contents))]
    return pa.RecordBatch.from_arrays(
        [pa.array(names), pa.array(contents, pa.binary()), pa.nulls(len(names), pa.string())],
        names=["name", "content", "problem"])


@settings(**BUDGET)
@given(st.lists(damaged(), min_size=1, max_size=4))
def test_every_document_is_counted_or_has_a_problem(contents: list[bytes]) -> None:
    parsers = (folders.parse_batch, enron.parse_batch, amazon.parse_raw, amazon._WordParser(RECIPE.tokeniser))
    for parse in parsers:
        counted = WordCounter(parse, RECIPE, CountRules(keys=True))(iter([raw_batch(contents)]))
        rows = [row for row in pa.Table.from_batches(counted).to_pylist() if row["term"] is None]
        assert len(rows) == len(contents)
        for row in rows:
            counts = np.frombuffer(row["counts"], np.int32)
            assert row["problem"] is None or not len(counts)
            assert (counts > 0).all()
            assert row["length"] == counts.sum(dtype=np.int64)
            assert len(row["hashes"]) == 8 * len(counts)


@settings(**BUDGET)
@given(st.lists(st.tuples(st.one_of(st.none(), st.text(max_size=5)), st.integers(-2**31, 2**31 - 1)), max_size=6))
def test_ready_made_words_with_any_counts(pairs: list[tuple[str | None, int]]) -> None:
    batch = pa.RecordBatch.from_arrays(
        [pa.array(["x"]), pa.array([[word for word, _ in pairs]], pa.list_(pa.string())),
         pa.array([[count for _, count in pairs]], pa.list_(pa.int32()))], names=["doc_id", "words", "counts"])
    counted = next(WordCounter(None, RECIPE)(iter([batch])))
    assert (np.frombuffer(counted.column("counts")[0].as_py(), np.int32) > 0).all()


@settings(**BUDGET)
@given(st.data())
def test_archives_are_read_or_refused(data: st.DataObject) -> None:
    archive = bytearray(tar_bytes([("a/1", b"text " * 150), ("n" * 150, b""), ("b/2", b"more")], "w"))
    cut = data.draw(st.booleans())
    archive = archive[: data.draw(st.integers(1, len(archive)))] if cut else archive[:4096] + archive
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(archive)))
        archive[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=24))
    with suppress(SpectralError):
        for member in members(io.BytesIO(bytes(archive)), "fuzz.tar", Limits(1 << 16, 1 << 22)):
            assert (member.content is None) != (member.problem is None)

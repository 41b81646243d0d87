import gzip
from pathlib import Path

import pytest

from spectral_spark.errors import InputError

from .conftest import Ingest, paths_by_document, words_by_document

TRIPLES = "4\n3\n5\n1 1 2\n1 3 1\n2 2 4\n4 1 1\n4 2 1\n"
VOCABULARY = "zzz_bush\nthe\nox\n"


def write(root: Path, docword: str = TRIPLES, vocabulary: str = VOCABULARY, packed: bool = False) -> Path:
    root.mkdir()
    for name, text in (("docword.tiny.txt", docword), ("vocab.tiny.txt", vocabulary)):
        if packed and name.startswith("docword"):
            (root / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (root / name).write_text(text)
    return root


def test_triples_become_documents_with_words_as_they_are(run_ingest: Ingest, tmp_path: Path) -> None:
    plain = run_ingest("uci", write(tmp_path / "plain"), "one")
    assert words_by_document(plain) == {
        "1": {"zzz_bush": 2, "ox": 1}, "2": {"the": 4}, "4": {"zzz_bush": 1, "the": 1}}
    assert set(map(tuple, paths_by_document(plain).values())) == {()}
    assert plain.manifest["read"] == 4
    assert plain.manifest["dropped"] == {"empty": 1}
    packed = run_ingest("uci", write(tmp_path / "packed", packed=True) / "docword.tiny.txt.gz", "two")
    assert packed.fingerprint == plain.fingerprint


@pytest.mark.parametrize(("docword", "vocabulary", "message"), [
    (TRIPLES[:-6], VOCABULARY, "promises 5 counts, has 4"),
    (TRIPLES, "a\nb\n", "counts 3 words, 'vocab.tiny.txt' has 2"),
    ("4\n3\n1\n9 1 1\n", VOCABULARY, "documents outside"),
    ("4\n3\n1\n1 7 1\n", VOCABULARY, "words outside"),
    ("4\n3\n1\n1 1 x\n1 1 1\n", VOCABULARY, "1 lines that are not"),
    ("hello\n", VOCABULARY, "three counts"),
])
def test_files_that_break_their_promise(
    run_ingest: Ingest, tmp_path: Path, docword: str, vocabulary: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run_ingest("uci", write(tmp_path / "given", docword, vocabulary))
    assert [path.name for path in tmp_path.iterdir()] == ["given"]


def test_a_cut_gzip_and_missing_files(run_ingest: Ingest, tmp_path: Path) -> None:
    rows = "".join(f"{i} {1 + i % 3} {i * 7919 % 1000 + 1}\n" for i in range(1, 20_001))
    root = write(tmp_path / "cut", f"20000\n3\n20000\n{rows}", packed=True)
    whole = (root / "docword.tiny.txt.gz").read_bytes()
    (root / "docword.tiny.txt.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"docword.tiny.txt.gz' failed|promises"):
        run_ingest("uci", root)
    (root / "vocab.tiny.txt").unlink()
    with pytest.raises(InputError, match=r"no vocab\.tiny\.txt"):
        run_ingest("uci", root)
    (root / "docword.tiny.txt.gz").unlink()
    with pytest.raises(InputError, match=r"0 docword"):
        run_ingest("uci", root)


@pytest.mark.parametrize("count", ["2147483648", "99999999999", "9" * 25])
def test_too_large_a_count_makes_its_document_unreadable(run_ingest: Ingest, tmp_path: Path, count: str) -> None:
    corpus = run_ingest("uci", write(tmp_path / "given", TRIPLES.replace("2 2 4", f"2 2 {count}")))
    assert corpus.manifest["dropped"] == {"empty": 1, "unreadable": 1}
    assert set(words_by_document(corpus)) == {"1", "4"}


def test_the_largest_count_is_kept_and_a_sum_beyond_it_is_not(run_ingest: Ingest, tmp_path: Path) -> None:
    lines = "3\n3\n5\n1 1 2147483647\n2 2 2000000000\n2 2 2000000000\n3 1 1\n3 2 2\n"
    corpus = run_ingest("uci", write(tmp_path / "given", lines))
    assert words_by_document(corpus) == {"1": {"zzz_bush": 2147483647}, "3": {"zzz_bush": 1, "the": 2}}
    assert corpus.manifest["dropped"] == {"unreadable": 1}

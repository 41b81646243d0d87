"""The common pipeline, checked against a few lines of plain Python."""

import hashlib
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spectral_spark.cli.verbs.ingest import summary_lines
from spectral_spark.errors import InputError
from spectral_spark.ingest.corpus_store import open_corpus
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.pipeline import ingest

from .conftest import Ingest, paths_by_document, words_by_document

COLUMNS: dict[str, Any] = {"text_col": "text", "path_cols": ["group", "team"], "id_col": "id"}
WORDS = [f"{a}{b}{c}" for a in ("gas", "oil", "sun") for b in "bdfgk" for c in ("an", "en", "on")]


def rows(n: int = 300) -> list[dict[str, str]]:
    """Documents of Zipf words in three groups of very different sizes; some are short, some have rare words only."""
    draw = random.Random(5)
    weights = [1 / (i + 1) for i in range(len(WORDS))]
    result = []
    for i in range(n):
        text = " ".join(draw.choices(WORDS, weights, k=draw.randint(3, 12)))
        if i % 9 == 0:
            text = " ".join(f"rare{chr(97 + i % 26)}{chr(97 + i // 26)}word{chr(97 + j)}" for j in range(4))
        group, team = "ABC"[min(i % 20, 2)], f"t{i % 2}"
        result.append({"id": f"{i * 7919 % 1000:03d}", "group": group, "team": team, "text": text})
    return result


def write(path: Path, table: list[dict[str, str]], files: int = 1) -> Path:
    path.mkdir()
    for number in range(files):
        pq.write_table(pa.Table.from_pylist(table[number::files]), path / f"{number}.parquet")
    return path


def expected_vocabulary(training: list[list[str]], size: int, least: int, share: float) -> list[str]:
    documents = Counter(word for words in training for word in set(words))
    occurrences = Counter(word for words in training for word in words)
    kept = [word for word, count in documents.items() if least <= count <= share * len(training)]
    return sorted(kept, key=lambda word: (-documents[word], -occurrences[word], word))[:size]


def test_vocabulary_counts_and_split_equal_plain_python(run_ingest: Ingest, tmp_path: Path) -> None:
    table = rows()
    limits = {"vocab_size": 30, "min_documents": 4, "max_document_share": 0.4, "min_tokens": 3}
    corpus = run_ingest("table", write(tmp_path / "in", table), holdout=40, seed=11, **COLUMNS, **limits)
    test = words_by_document(corpus, "test")
    texts = {row["id"]: row["text"].split() for row in table}
    terms = expected_vocabulary([words for name, words in texts.items() if name not in test], 30, 4, 0.4)
    assert list(corpus.vocabulary) == terms
    known = {name: Counter(word for word in words if word in set(terms)) for name, words in texts.items()}
    expected = {name: dict(counts) for name, counts in known.items() if counts.total() >= 3}
    assert words_by_document(corpus) == expected
    assert corpus.manifest["dropped"] == {"too_short": len(texts) - len(expected)}
    assert corpus.manifest["documents"] == {"test": 40, "train": len(expected) - 40}
    statistics = corpus.vocabulary_table.to_pylist()
    training = [words for name, words in texts.items() if name not in test]
    for row in statistics[:5]:
        assert row["documents"] == sum(row["term"] in words for words in training)
        assert row["occurrences"] == sum(words.count(row["term"]) for words in training)


def test_a_given_vocabulary_is_kept_and_what_it_lacks_is_counted(run_ingest: Ingest, tmp_path: Path) -> None:
    first = run_ingest("table", write(tmp_path / "one", rows()), "first", vocab_size=20, min_documents=4, **COLUMNS)
    table = [{**row, "id": f"new-{row['id']}"} for row in rows(120)]
    given = {"vocabulary": str(tmp_path / "first"), "min_documents": 4, "min_tokens": 2, "holdout": 10, **COLUMNS}
    corpus = run_ingest("table", write(tmp_path / "two", table), "second", **given)
    assert corpus.vocabulary == first.vocabulary
    known, test = set(first.vocabulary), words_by_document(corpus, "test")
    assert len(test) == 10
    texts = {row["id"]: Counter(row["text"].split()) for row in table}
    kept = {name: {word: n for word, n in words.items() if word in known} for name, words in texts.items()}
    assert words_by_document(corpus) == {name: words for name, words in kept.items() if sum(words.values()) >= 2}
    training = [words for name, words in texts.items() if name not in test]
    documents = Counter(word for words in training for word in words)
    occurrences = sum(training, Counter())
    for row in corpus.vocabulary_table.to_pylist():
        assert (row["documents"], row["occurrences"]) == (documents[row["term"]], occurrences[row["term"]])
    lacking = {word: n for word, n in occurrences.items() if word not in known}
    again = sum(n for word, n in lacking.items() if documents[word] >= 4)
    total = occurrences.total()
    assert corpus.manifest["unseen"] == {
        "words": len(lacking), "tokens": sum(lacking.values()), "share": sum(lacking.values()) / total,
        "recurring_tokens": again, "recurring_share": again / total, "cut_words": 0, "cut_tokens": 0, "cut_share": 0.0}
    assert again
    with pytest.raises(InputError, match="has no vocabulary/"):
        run_ingest("table", tmp_path / "two", "third", **{**given, "vocabulary": str(tmp_path)})


def test_holdout_by_group_takes_at_most_half_of_a_small_group(run_ingest: Ingest, tmp_path: Path) -> None:
    table = [row for row in rows() if not row["text"].startswith("rare")]
    sizes = Counter(row["group"] for row in table)
    corpus = run_ingest("table", write(tmp_path / "in", table), holdout="20/group", **COLUMNS)
    paths = paths_by_document(corpus)
    taken = Counter(paths[name][0] for name in words_by_document(corpus, "test"))
    assert taken == {group: min(20, size // 2) for group, size in sizes.items()}
    assert min(taken.values()) < 20


@pytest.fixture
def shuffle_partitions(spark: Any) -> Any:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    yield lambda n: spark.conf.set("spark.sql.shuffle.partitions", str(n))
    spark.conf.set("spark.sql.shuffle.partitions", before)


def test_same_bytes_for_any_partitioning(run_ingest: Ingest, tmp_path: Path, shuffle_partitions: Any) -> None:
    table = rows()
    table += [{**row, "id": f"copy-{row['id']}", "group": "D"} for row in table[:50]]
    settings = {"holdout": 30, "drop_duplicates": True, "vocab_size": 25, **COLUMNS}
    shuffle_partitions(1)
    one = run_ingest("table", write(tmp_path / "in-1", table), "one", **settings)
    shuffle_partitions(7)
    seven = run_ingest("table", write(tmp_path / "in-7", table[::-1], files=7), "seven", **settings)
    assert one.fingerprint == seven.fingerprint
    assert one.manifest["dropped"] == seven.manifest["dropped"]
    assert one.manifest["dropped"]["duplicate"] == len(table) - len({row["text"] for row in table})
    assert not any(name.startswith("copy-") for name in words_by_document(one))
    for part in ("documents", "vocabulary"):
        first, second = tmp_path / "one" / part, tmp_path / "seven" / part
        assert [p.name for p in sorted(first.iterdir())] == [p.name for p in sorted(second.iterdir())]
        for path in first.iterdir():
            assert path.read_bytes() == (second / path.name).read_bytes()


def test_the_seed_moves_the_split_and_the_fingerprint(run_ingest: Ingest, tmp_path: Path) -> None:
    table = [row for row in rows(80) if not row["text"].startswith("rare")]
    given = write(tmp_path / "in", table)
    corpora = [run_ingest("table", given, f"{seed}", holdout=20, seed=seed, **COLUMNS) for seed in (1, 2)]
    for seed, corpus in zip((1, 2), corpora, strict=True):
        ranks = {row["id"]: hashlib.sha256(f"{seed}:{row['id']}".encode()).hexdigest() for row in table}
        assert set(words_by_document(corpus, "test")) == set(sorted(ranks, key=lambda name: ranks[name])[:20])
    assert corpora[0].fingerprint != corpora[1].fingerprint


def test_outputs_are_not_overwritten_unasked_and_failures_leave_the_old_one(
    run_ingest: Ingest, spark: Any, tmp_path: Path
) -> None:
    given = write(tmp_path / "in", rows(60))
    first = run_ingest("table", given, **COLUMNS)
    with pytest.raises(InputError, match="exists"):
        run_ingest("table", given, **COLUMNS)
    with pytest.raises(InputError, match="no word is in at least 1000"):
        run_ingest("table", given, overwrite=True, min_documents=1000, **COLUMNS)
    assert {path.name for path in tmp_path.iterdir()} == {"in", "corpus"}
    assert open_corpus(spark, str(tmp_path / "corpus")).fingerprint == first.fingerprint
    again = run_ingest("table", given, overwrite=True, vocab_size=5, **COLUMNS)
    assert len(again.vocabulary) == 5


def test_a_crash_leaves_nothing_that_looks_finished(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spectral_spark.errors import FormatError
    from spectral_spark.ingest import pipeline as module

    given = write(tmp_path / "in", rows(60))
    target = tmp_path / "corpus"

    def killed(*_: Any) -> None:
        staging = next(path for path in tmp_path.iterdir() if path.name.startswith(".corpus.partial-"))
        with pytest.raises(FormatError, match=r"no corpus\.json"):
            open_corpus(spark, str(staging))
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_manifest", killed)
    with pytest.raises(KeyboardInterrupt):
        ingest(spark, IngestSettings("table", str(given), str(target), min_documents=1, **COLUMNS))
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


def test_progress_says_numbers_and_no_text(spark: Any, tmp_path: Path) -> None:
    given = write(tmp_path / "in", rows(60))
    said: list[str] = []
    manifest = ingest(spark, IngestSettings("table", str(given), str(tmp_path / "corpus"), min_documents=1, **COLUMNS),
                      progress=said.append)
    assert any("60 documents" in line for line in said)
    assert not any(word in line for line in said for word in WORDS)
    assert set(manifest["seconds"]) == {"read", "count", "vocabulary", "write"}


def test_a_holdout_larger_than_half_is_cut_to_half(run_ingest: Ingest, tmp_path: Path) -> None:
    """A day of 80 documents with --holdout 100 has a corpus all the same, and says so."""
    table = [row for row in rows(90) if not row["text"].startswith("rare")][:80]
    corpus = run_ingest("table", write(tmp_path / "in", table), holdout=100, **COLUMNS)
    assert corpus.manifest["documents"] == {"test": 40, "train": 40}
    said = "\n".join(summary_lines(corpus.manifest, "out", 1.0))
    assert "held out for testing: 40 instead of 100, because at most half of the documents is held out" in said
    one = run_ingest("table", write(tmp_path / "one", table[:1]), "alone", holdout=3, **COLUMNS)
    assert one.manifest["documents"] == {"train": 1}


def coast(n: int, word: str = "sail") -> list[dict[str, str]]:
    """Notes of which four in five have one word."""
    draw = random.Random(3)
    return [{"id": f"{word}{i:03d}", "group": "A", "team": "t",
             "text": " ".join([*draw.choices(WORDS, k=6), *([word] if i % 5 else [])])} for i in range(n)]


def test_words_that_the_limits_cut_are_counted_and_named(run_ingest: Ingest, tmp_path: Path) -> None:
    table = [*coast(100), {"id": "z", "group": "A", "team": "t", "text": f"driftwood {' '.join(WORDS[:4])}"}]
    limits = {"max_document_share": 0.5, "min_documents": 2, "vocab_size": 20, **COLUMNS}
    corpus = run_ingest("table", write(tmp_path / "in", table), "first", **limits)
    documents = Counter(word for row in table for word in set(row["text"].split()))
    between = sum(2 <= n <= 50 for n in documents.values())
    assert corpus.manifest["words"] == {
        "distinct": len(documents), "kept": 20, "too_rare": sum(n < 2 for n in documents.values()), "too_frequent": 1,
        "beyond_vocab_size": between - 20,
        "most_frequent_cut": [{"word": "sail", "document_share": pytest.approx(80 / 101, abs=1e-6)}]}
    said = "\n".join(summary_lines(corpus.manifest, "out", 1.0))
    assert f"{len(documents)} distinct words in the training documents; cut: 1 in fewer than 2 documents" in said
    assert "1 in more than 50% of the documents" in said
    assert "most frequent words cut (share of documents): sail (79%); --max-document-share 1 keeps them" in said

    limits["vocabulary"] = str(tmp_path / "first")
    second = run_ingest("table", write(tmp_path / "next", coast(60)), "second", **limits)
    unseen = second.manifest["unseen"]
    assert (unseen["cut_words"], unseen["cut_tokens"]) == (1, 48)
    assert unseen["recurring_tokens"] == unseen["tokens"] - 48
    said = "\n".join(summary_lines(second.manifest, "out", 1.0))
    assert "left out of that vocabulary on purpose, as too frequent: 1 distinct words" in said
    limits["vocabulary"] = str(tmp_path / "second")        # the list is handed on
    third = run_ingest("table", write(tmp_path / "other", coast(60, "tractor")), "third", **limits)
    unseen = third.manifest["unseen"]
    assert unseen["cut_words"] == 0                         # in most documents, but new: that is drift
    assert unseen["recurring_tokens"] >= 48
    assert third.manifest["cut_words"] == ["sail"]

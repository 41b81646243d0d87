from pathlib import Path

import pytest

from spectral_spark.errors import InputError

from .conftest import Ingest, paths_by_document, words_by_document

RAW = """<review>
<unique_id>
1:x
</unique_id>
<title>
Caf\xe9 & &quot;bar&quot; <3
</title>
<review_text>
Solid knife, isn't it?
<b>bold</b> & sharp
</review_text>
</review>
<review>
<title>
Unclosed
</title>
<review_text>
never ends
</review>
<review>
<title>
No text at all
</title>
</review>
<review>
<review_text>
starts before the other ended
<review>
<review_text>
last review
</review_text>
</review>
"""
PROCESSED = """knife:2 sharp_knife:1 <num>:3 a:b:1 caf\xe9:1 don't:2 #label#:positive
broken token #label#:positive
the:3 #label#:positive
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode("latin-1"))
    return root


def test_raw_reviews_are_read_by_their_tag_lines(run_ingest: Ingest, tmp_path: Path) -> None:
    root = write(tmp_path / "reviews", {
        "sorted_data_acl/kitchen_&_x/positive.review": RAW, "sorted_data_acl/kitchen_&_x/unlabeled.review": RAW})
    corpus = run_ingest("amazon", root)
    assert words_by_document(corpus) == {
        "kitchen_&_x/positive/000001": {"café": 1, "bar": 1, "solid": 1, "knife": 1, "bold": 1, "sharp": 1},
        "kitchen_&_x/positive/000002": {"unclosed": 1, "ends": 1},
        "kitchen_&_x/positive/000004": {"starts": 1, "ended": 1},
        "kitchen_&_x/positive/000005": {"review": 1},
    }
    assert set(map(tuple, paths_by_document(corpus).values())) == {("kitchen_&_x", "positive")}
    assert corpus.manifest["dropped"] == {"unreadable": 1}
    assert corpus.manifest["notes"] == {
        "layout": "sorted_data_acl", "files_left_aside": ["kitchen_&_x/unlabeled.review"]}


def test_processed_reviews_give_their_single_words(run_ingest: Ingest, tmp_path: Path) -> None:
    root = write(tmp_path / "some_name", {
        "books/positive.review": PROCESSED, "dvd/negative.review": "film:4 #label#:negative"})
    corpus = run_ingest("amazon", root, min_word_length=1)
    assert words_by_document(corpus) == {
        "books/positive/000001": {"knife": 2, "b": 1, "café": 1},
        "dvd/negative/000001": {"film": 4},
    }
    assert paths_by_document(corpus)["dvd/negative/000001"] == ["dvd", "negative"]
    assert corpus.manifest["dropped"] == {"empty": 1, "unreadable": 1}
    assert corpus.manifest["notes"]["layout"] == "processed_acl"


def test_other_directories_are_refused(run_ingest: Ingest, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no <domain>/positive"):
        run_ingest("amazon", write(tmp_path / "other", {"a/b.txt": "x"}))


@pytest.mark.data
def test_the_real_reviews(run_ingest: Ingest, real_data: Path) -> None:
    for release, kitchen in (("sorted_data_acl", "kitchen_&_housewares"), ("processed_acl", "kitchen")):
        corpus = run_ingest("amazon", real_data / "amazon_reviews" / release, release, vocab_size=5000,
                            min_documents=10, holdout="100/group", min_tokens=3)
        assert corpus.manifest["read"] == 8000
        assert corpus.manifest["terms"] == 5000
        assert corpus.manifest["kept"] > 7800
        groups = corpus.documents("test").selectExpr("path[0] g").groupBy("g").count().collect()
        domains = ("books", "dvd", "electronics", kitchen)
        assert {row["g"]: row["count"] for row in groups} == dict.fromkeys(domains, 100)
        assert {"book", "movie", "sound", "recipe"} <= set(corpus.vocabulary)
        assert not any("_" in word or "<" in word for word in corpus.vocabulary)

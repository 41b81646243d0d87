"""The file that build_report writes: complete, small, honest, and safe whatever the names are."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark.errors import FormatError, InputError, SettingsError
from spectral_spark.files.model_files import TopicModelFiles
from spectral_spark.plain_text import duration
from spectral_spark.report import build_report
from spectral_spark.report.encoding import finite, quantised, script_json
from spectral_spark.report.page import render
from spectral_spark.report.payload import observed_shares, page_payload, shared_top_words
from spectral_spark.report.relevance import label_words
from spectral_spark.report.summary_text import answers
from spectral_spark.report.topic_map import topic_groups

Save = Callable[..., str]
MakeFiles = Callable[..., TopicModelFiles]
HOSTILE = (
    "<img src=x onerror=window.hacked=1>", "</script><script>window.hacked=1</script>", "\"'`${window.hacked=1}",
    "{{ 7*7 }}", "<!--<script>", "line\u2028separator", "\u202eright-to-left", "😀", "שלום",
    "javascript:window.hacked=1", "]]>", "&lt;b&gt;", "\x00\x07", "a" * 300, "",
)


class Elements(HTMLParser):
    """Start tags with their attributes, and the text of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and self.scripts:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self.tags.append(("/script", {}))


def built(saved: Save, tmp_path: Path, **settings: Any) -> str:
    build_report(saved(**settings), str(tmp_path / "report.html"), overwrite=True)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def payload(page: str) -> dict[str, Any]:
    (text,) = [text for attributes, text in Elements(page).scripts if attributes.get("id") == "data"]
    value: dict[str, Any] = json.loads(text)
    return value


def test_nothing_is_loaded_and_only_our_scripts_may_run(saved: Save, tmp_path: Path) -> None:
    page = built(saved, tmp_path)
    parsed = Elements(page)
    for tag, attributes in parsed.tags:
        assert tag not in ("img", "iframe", "object", "embed", "link", "base", "form")
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#")
    policy = next(a["content"] for _, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.split("style-src")[0]
    hashes = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
              for attributes, text in parsed.scripts if "type" not in attributes}
    assert hashes == set(re.findall(r"sha256-([^']+)", policy))


def test_hostile_words_and_names_stay_text(saved: Save, tmp_path: Path) -> None:
    words = HOSTILE + tuple(f"w{number}" for number in range(60 - len(HOSTILE)))
    paths = ((), *((name,) for name in HOSTILE), *((HOSTILE[0], name) for name in HOSTILE))
    plain = Elements(built(saved, tmp_path, k=4, d=60, paths=((), *((f"a{i}",) for i in range(30)))))
    summary = {"documents": 5, "dropped": dict.fromkeys(HOSTILE, 1), "versions": {name: name for name in HOSTILE},
               "corpus": HOSTILE[1], "rank_reason": HOSTILE[0], "settings": {"x": HOSTILE[1]}}
    page = built(saved, tmp_path, k=4, d=60, words=words, paths=paths, summary=summary)
    parsed = Elements(page)
    assert {tag for tag, _ in parsed.tags} <= {tag for tag, _ in plain.tags}
    assert len(parsed.scripts) == len(plain.scripts)
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    data = payload(page)
    assert tuple(data["words"][: len(HOSTILE)]) == HOSTILE
    assert data["nodes"]["names"][1 : len(HOSTILE) + 1] == list(HOSTILE)


def test_the_data_block_can_be_read_back(saved: Save, tmp_path: Path, files: Callable[..., Any]) -> None:
    data = payload(built(saved, tmp_path, k=5, d=100))
    model = files(k=5, d=100)
    stored = np.frombuffer(base64.b64decode(data["nodes"]["proportions"]), "<u2").reshape(-1, 5) / 65535
    np.testing.assert_allclose(stored, observed_shares(model.nodes), atol=1e-5)
    ids = np.frombuffer(base64.b64decode(data["topics"]["words"]), "<u4")
    shares = np.frombuffer(base64.b64decode(data["topics"]["shares"]), "<f4")
    first = slice(*data["topics"]["offsets"][:2])
    np.testing.assert_allclose(shares[first], model.topics[ids[first], 0], rtol=1e-6)
    assert data["nodes"]["parents"][:6] == [-1, 0, 0, 0, 0, 1]
    assert data["nodes"]["evaluation"]["3"] == [6.8, 7.9, 900]


def test_shares_of_a_node_are_those_of_its_documents(files: Callable[..., Any]) -> None:
    table = files(k=3, paths=((), ("a",), ("b",), ("a", "x"), ("a", "y"))).nodes
    nodes = replace(table, documents=np.array([100, 60, 40, 10, 30]))           # twenty documents hang directly on a
    shares = observed_shares(nodes)
    p = nodes.proportions
    np.testing.assert_allclose(shares[2:], p[2:])
    inner = (10 * p[3] + 30 * p[4] + 20 * p[1]) / 60
    np.testing.assert_allclose(shares[1], inner)
    np.testing.assert_allclose(shares[0], 0.6 * inner + 0.4 * p[2])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_size_for_a_large_model(saved: Save, tmp_path: Path) -> None:
    page = built(saved, tmp_path, k=100, d=10_000, widths=(20, 24))
    assert payload(page)["nodes"]["names"][-1] == "g1-23"
    assert len(page.encode()) < 6_000_000


def test_the_overview_says_what_is_known(saved: Save, tmp_path: Path) -> None:
    page = built(saved, tmp_path)
    for words in ("12,000 documents", "987,654 words", "12 topics", "12 values lie above the noise floor",
                  "67% less to guess", "6.900 against 8.000", "NPMI", "12.5 s", "By the fit: too short 17."):
        assert words in page
    bare = built(saved, tmp_path, evaluated=False, summary={}, widths=())
    for words in ("not evaluated", "not divided into groups", "The run report has no times"):
        assert words in bare
    assert "Compare two groups" not in bare


def test_the_corpus_gives_the_title_and_what_reading_dropped(saved: Save, tmp_path: Path) -> None:
    corpus = {"name": "out/enron", "dropped": {"duplicate": 30_463, "empty": 0}}
    page = built(saved, tmp_path, summary={"extra": {"corpus": corpus}, "dropped": {"too_short": 2}})
    assert "<title>enron " in page
    assert "30,465 documents" in page
    assert "When the corpus was read: duplicate 30,463. By the fit: too short 2." in page


def test_without_a_name_the_folder_is_the_title(saved: Save, tmp_path: Path) -> None:
    assert f"<title>{tmp_path.name} " in built(saved, tmp_path, summary={})       # the model lies in its folder "model"
    assert f"<title>{tmp_path.name} " in built(saved, tmp_path, summary={"corpus": "corpus"})


@pytest.mark.parametrize(("held_out", "dropped", "said"), [
    (0, 0, "Every document of the corpus is in the model."),
    (None, 0, "No document was dropped."),
    (500, 0, "No document was dropped. 500 documents were held out for testing."),
    (1, 3, "By the fit: too short 3. 1 document was held out for testing."),
])
def test_documents_for_testing_are_not_said_to_be_in_the_model(
    files: Callable[..., Any], held_out: int | None, dropped: int, said: str
) -> None:
    corpus = {"name": "mail", "dropped": {}, "held_out": held_out}
    summary = {"extra": {"corpus": corpus}, "dropped": {"too_short": dropped}}
    assert answers(files(summary=summary), None)[-1].text == said


def test_a_model_worse_than_the_unigram_is_not_praised(saved: Save, tmp_path: Path) -> None:
    other = tmp_path / "evaluation.json"
    other.write_text('{"loss": 8.2, "unigram_loss": 8.0, "nodes": []}')
    build_report(saved(), str(tmp_path / "report.html"), evaluation=str(other))
    page = (tmp_path / "report.html").read_text()
    assert "no better than counting words" in page
    assert "less to guess" not in page


def test_an_existing_file_is_kept_unless_allowed(saved: Save, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("mine")
    with pytest.raises(InputError, match="exists"):
        build_report(saved(), str(target))
    assert target.read_text() == "mine"
    with pytest.raises(InputError, match="is a file of another kind; overwriting replaces only a report"):
        build_report(saved(), str(target), overwrite=True)
    assert target.read_text() == "mine"
    target.unlink()
    build_report(saved(), str(target), title="before")
    build_report(saved(), str(target), overwrite=True, title="A & B")
    assert "<title>A &amp; B" in target.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "report.html"]


@pytest.mark.parametrize(("text", "error", "message"), [
    (None, InputError, "there is no evaluation"), ("{", FormatError, "not JSON"), ("[1]", FormatError, "no 'loss'"),
    ('{"loss": "low"}', FormatError, r"evaluation\.json' is no evaluation: 'loss' is 'low', not a number"),
    ('{"loss": 800, "unigram_loss": 8}', FormatError, r"evaluation\.json.*800 nats"),
    ('{"loss": 7, "nodes": 5}', FormatError, r"evaluation\.json.*'nodes' is 5, not a list"),
    ('{"loss": 7, "nodes": [5]}', FormatError, r"evaluation\.json.*number 0 of 'nodes' is 5"),
    ('{"loss": 7, "nodes": [{"path": [["a"]]}]}', FormatError, r"evaluation\.json.*not a list of names"),
])
def test_a_wrong_evaluation_is_named(
    saved: Save, tmp_path: Path, text: str | None, error: type[Exception], message: str
) -> None:
    path = tmp_path / "evaluation.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(error, match=message):
        build_report(saved(), str(tmp_path / "report.html"), evaluation=str(path))
    assert not (tmp_path / "report.html").exists()


def test_the_same_model_gives_the_same_page(files: Callable[..., Any]) -> None:
    assert render(files(), "same") == render(files(), "same")


def test_encoding() -> None:
    assert script_json({"a": "</script>\u2028&", "b": [float("nan"), np.float64(2), np.int64(3)]}) == (
        '{"a":"\\u003c/script\\u003e\\u2028\\u0026","b":[null,2.0,3]}')
    assert json.loads(script_json("\ud800")) == "?"
    assert finite({1: (np.inf, 1)}) == {"1": [None, 1]}
    assert base64.b64decode(quantised(np.array([0, 0.5, 1, 2, np.nan]), "u1")) == bytes([0, 128, 255, 255, 0])


def test_scripts_never_parse_markup() -> None:
    folder = Path(__file__).parents[2] / "spectral_spark" / "report" / "scripts"
    for script in folder.glob("*.js"):
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert forbidden not in script.read_text(), f"{script.name} uses {forbidden}"


@pytest.mark.parametrize("name", ["report.pdf", "report.json", "report.HTML.png"])
def test_a_name_of_another_format_is_refused(saved: Callable[..., str], tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=r"is an HTML page .* ends in '\.(pdf|json|png)'"):
        build_report(saved(k=3), str(tmp_path / name))
    assert not (tmp_path / name).exists()


def test_a_given_k_says_how_much_stands_out_from_noise(files: MakeFiles) -> None:
    given = replace(files(k=12), metadata={"k": 12})
    text = next(answer.text for answer in answers(given, None) if answer.question.startswith("How many"))
    above = sum(value > 0.1 for value in given.summary["spectrum"])
    assert f"{above} patterns in the data stand out from chance" in text


def test_seconds_are_those_of_the_console_and_say_what_they_include(files: MakeFiles) -> None:
    took = next(answer for answer in answers(files(), None) if answer.question.startswith("How long"))
    assert took.figure == duration(12.5)
    assert "Starting Spark and writing the model are not included" in took.text


def test_quality_of_every_topic_is_on_the_page(files: MakeFiles) -> None:
    model = files(k=4)
    assert model.evaluation is not None
    evaluated = model.evaluation | {"npmi_by_topic": [0.1, 0.2, -0.3, 0.4]}
    payload = page_payload(model, evaluated)["topics"]
    assert payload["coherence"] == [0.1, 0.2, -0.3, 0.4]
    assert payload["sharedWords"] == shared_top_words(model.topics)
    assert "-0.30" in render(replace(model, evaluation=evaluated), "t")
    assert page_payload(model, model.evaluation | {"npmi_by_topic": [0.1]})["topics"]["coherence"] == [None] * 4


def test_similar_topics_share_a_colour() -> None:
    near, far = 0.1, 0.9
    apart = np.full((9, 9), far)
    for start in (0, 3, 6):
        apart[start : start + 3, start : start + 3] = near
    np.fill_diagonal(apart, 0.0)
    assert topic_groups(apart).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert topic_groups(np.zeros((2, 2))).tolist() == [0, 0]


def test_labels_are_frequent_and_exclusive() -> None:
    topics = np.array([[0.5, 0.4], [0.3, 0.0], [0.2, 0.0], [0.0, 0.6]])
    assert label_words(topics[:, 0], topics, np.array([0.5, 0.5]), 2).tolist() == [1, 2]
    assert label_words(topics[:, 1], topics, np.array([0.5, 0.5]), 3).tolist() == [3, 0]

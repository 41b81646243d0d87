"""A Python without pyspark: models are read, texts scored, and what needs Spark says so in one sentence."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spectral_spark.files.directories import new_directory
from spectral_spark.files.formats import MODEL_KIND, MODEL_VERSION
from spectral_spark.files.model_files import NodeTable, TopicModelFiles, write_model_files
from spectral_spark.files.toml import tomllib

REPOSITORY = Path(__file__).parents[2]
WORDS = ("sail", "boat", "wind", "bread", "oven", "flour")
BLOCKER = """
import sys
class NoSpark:
    def find_spec(self, name, path=None, target=None):
        if name in {blocked} or name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)
sys.meta_path.insert(0, NoSpark())
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model of two topics, made by hand: no Spark here."""
    topics = np.array([[6, 4, 4, 1, 1, 1], [1, 1, 1, 6, 4, 4]], float).T
    topics /= topics.sum(axis=0)
    nodes = NodeTable(((), ("coast",)), np.array([9, 4]), np.array([9.0, 4.0]), np.array([[0.5, 0.5], [0.9, 0.1]]))
    summary = {"k": 2, "documents": 9, "terms": 6, "tokens": 90, "document_concentration": 2.0, "spectrum": [1.0, 0.5]}
    path = str(tmp_path_factory.mktemp("model") / "model")
    with new_directory(path, MODEL_KIND, MODEL_VERSION) as staging:
        write_model_files(staging, TopicModelFiles(topics, np.array([0.5, 0.5]), WORDS, nodes, summary, {"uid": "m"}))
        staging.write_json("text.json", {"version": 1, "stop_words": ["and", "the"], "min_word_length": 3})
    return path


def python(code: str, *blocked: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    whole = BLOCKER.format(blocked=set(blocked) | {"pyspark", "py4j"}) + code
    return subprocess.run([sys.executable, "-c", whole], cwd=REPOSITORY, capture_output=True, text=True, input=stdin)


def command(*words: str, stdin: str = "", blocked: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return python(f"from spectral_spark.cli import main\nsys.exit(main({list(words)!r}))", *blocked, stdin=stdin)


def test_the_package_does_not_require_pyspark() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert not [name for name in project["dependencies"] if name.startswith("pyspark")]
    assert any(name.startswith("pyspark") for name in project["optional-dependencies"]["spark"])


def test_a_topic_model_works_without_pyspark(saved: str) -> None:
    done = python(
        "import spectral_spark\n"
        "from spectral_spark import TopicModel, MomentState\n"
        f"model = TopicModel.load({saved!r})\n"
        "print(model.infer(['sail boat', 'bread'], ['coast', None]).argmax(axis=1).tolist(), model.describe_topics(2))"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[0, 1]")


@pytest.mark.parametrize("name", ["SpectralHDP", "SpectralHDPModel", "SpectralIBP", "TopicModelEvaluator"])
def test_what_needs_spark_says_so_in_one_sentence(name: str) -> None:
    done = python(f"import spectral_spark\nspectral_spark.{name}")
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("spectral_spark.errors.SparkMissingError: ")
    assert f"{name} needs Spark" in last
    assert "pip install 'spectral-spark[spark]'" in last
    caught = python(f"try:\n    from spectral_spark import {name}\nexcept ImportError:\n    print('caught')")
    assert caught.stdout == "caught\n"


def test_verbs_that_need_no_spark_work_without_it(saved: str, tmp_path: Path) -> None:
    assert "sail" in command("topics", saved).stdout
    report = command("report", "--model", saved, "--output", str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").is_file(), report.stderr
    assert "spectral-spark VERB" in command("--help").stdout


@pytest.mark.parametrize("words", [
    ("demo", "--output", "{tmp}/demo"),
    ("ingest", "--source", "folders", "--input", "{tmp}", "--output", "{tmp}/corpus"),
    ("ibp", "--input", "{tmp}", "--features-col", "x", "--model", "{tmp}/ibp"),
])
def test_verbs_that_need_spark_say_so_in_one_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("sail")
    done = command(*(word.format(tmp=tmp_path) for word in words))
    assert done.returncode == 2, done.stderr
    if words[0] != "ibp":                                   # which looks at its input first
        assert "pyspark cannot be imported: pip install 'spectral-spark[spark]'" in done.stderr
        assert "Traceback" not in done.stderr


def test_infer_explains_a_text(saved: str) -> None:
    done = command("infer", "--model", saved, "The boat and the zeppelin")
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[1]
    assert re.match(r" +0 +\d\d\.\d%  sail boat wind +boat", first)
    assert "does not know: zeppelin" in done.stdout
    coast = command("infer", "--model", saved, "--path", "coast", "--format", "json", "--topics", "1", "The boat")
    assert json.loads(coast.stdout)["proportions"][0] > 0.8
    assert len(json.loads(coast.stdout)["topics"]) == 1


def test_infer_reads_a_file_and_standard_input(saved: str, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("sail boat\n\nxyzzy\nbread oven\n")
    by_file = command("infer", "--model", saved, "--input", str(tmp_path / "texts.txt"), "--format", "json")
    rows = [json.loads(line) for line in by_file.stdout.splitlines()]
    assert [int(np.argmax(row["proportions"])) for row in rows if row["known"]] == [0, 1]
    assert rows[1]["unknown"] == ["xyzzy"]
    by_pipe = command("infer", "--model", saved, "--format", "json", stdin=(tmp_path / "texts.txt").read_text())
    assert by_pipe.stdout == by_file.stdout
    table = command("infer", "--model", saved, "--input", "-", stdin="sail\nxyzzy\n")
    assert "no word of this text is known to the model" in table.stdout


def test_infer_says_what_is_wrong_with_a_text_or_a_model(saved: str, tmp_path: Path) -> None:
    nothing_known = command("infer", "--model", saved, "xyzzy")
    assert nothing_known.returncode == 2
    assert "no word of the text is among the" in nothing_known.stderr
    counts = Path(__file__).parents[1] / "data" / "version-0.1.0" / "model"
    assert "add --stop-words english" in command("infer", "--model", str(counts), "one text").stderr
    newer = Path(shutil.copytree(saved, tmp_path / "newer"))
    manifest = json.loads((newer / "manifest.json").read_text())
    (newer / "manifest.json").write_text(json.dumps(manifest | {"version": 99}))
    assert "has topic model format 99; this package reads up to 1: upgrade" in command(
        "infer", "--model", str(newer), "sail").stderr


def test_infer_loads_nothing_that_takes_long_to_load(saved: str) -> None:
    heavy = ("pandas", "numba", "jinja2", "matplotlib", "mlflow", "scipy.stats", "scipy.optimize", "scipy.linalg")
    done = command("infer", "--model", saved, "sail", blocked=heavy)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("words", "stdin", "message"), [
    (("--model", "{model}", "xyzzy"), "", "no word of the text is among the 6 words of the model"),
    (("--model", "{model}"), "\n  \n", "standard input is empty"),
    (("--model", "{model}", "--input", "{empty}"), "", "empty.txt' is empty"),
    (("--model", "{model}", "--input", "{tmp}/none.txt"), "", "--input: there is nothing at"),
    (("--model", "{tmp}/none", "sail"), "", "--model: there is nothing at"),
    (("--model", "{model}", "--input", "{empty}", "sail"), "", "give either a text or --input, not both"),
    (("--model", "{model}", "--input", "{binary}"), "", "is not text in UTF-8"),
])
def test_infer_refuses_with_one_message(
    saved: str, tmp_path: Path, words: tuple[str, ...], stdin: str, message: str
) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00s")
    places = {"model": saved, "tmp": tmp_path, "empty": tmp_path / "empty.txt", "binary": tmp_path / "binary.txt"}
    done = command("infer", *(word.format(**places) for word in words), stdin=stdin)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout

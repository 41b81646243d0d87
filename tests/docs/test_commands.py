"""Every command of the README and of the documentation is run, page by page, as a reader would type it.

One folder serves all pages. A command that an earlier page has run is not run again.
"""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark import SpectralHDPModel
from spectral_spark.cli.run import main
from tests.cluster.standalone import REPOSITORY, StandaloneCluster, submit
from tests.docs.pages import all_pages, blocks, verb_words
from tests.jobs.corpora import enron_slice

CLUSTER, AMAZON, ENRON = "docs/guides/deploying.md", "docs/tutorials/amazon.md", "docs/tutorials/enron.md"
ELSEWHERE = (CLUSTER, AMAZON, ENRON)            # pages whose commands need a cluster or a corpus: tests of their own
SHELL = ("python -m zipfile", "mkdir -p")

Run = Callable[[str], None]


class Reader:
    """Somebody who types the commands of page after page, each of them once."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.done: dict[str, str] = {}

    def follow(self, page: str, say: pytest.CaptureFixture[str]) -> None:
        """Run what a page says, in its order; the Python blocks of a page share their names."""
        names: dict[str, Any] = {}
        for block in blocks(page, "bash", "python"):
            if block.not_run:
                continue
            if block.language == "python":
                code = re.sub(r'"(out/)', rf'"{Path.cwd()}/\1', block.code)     # Spark began in another folder
                exec(compile(code, page, "exec"), names)
                continue
            for line in block.commands:
                if line not in self.done:
                    say.readouterr()
                    self.run(line)
                    self.done[line] = say.readouterr().out

    def run(self, line: str) -> None:
        if line.startswith("spectral-spark "):
            assert main(verb_words(line), self.spark) == 0, line
        elif line.startswith("make "):
            self.make(line)
        else:
            assert line.startswith(SHELL), f"a test does not know how to run '{line}'; mark its block as not run"
            subprocess.run(line.replace("python", shutil.which("python3") or "python3", 1), shell=True, check=True)

    def make(self, line: str) -> None:
        """Run what a target would run, in this process; the environment is set up already."""
        said = subprocess.check_output([*shlex.split(line), "--dry-run"], cwd=REPOSITORY, text=True)
        own = [found[1] for found in re.finditer(r"^\.venv/bin/(spectral-spark .*)$", said, re.M)]
        assert own, f"'{line}' runs nothing of ours"
        for command in own:
            self.run(command)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Reader]:
    """What a reader has at hand: the folders of the repository, and nothing else."""
    place = tmp_path_factory.mktemp("reader")
    for name in ("conf", "jobs", "spectral_spark", "docker", "Makefile"):
        (place / name).symlink_to(REPOSITORY / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        yield Reader(spark)


def follow_first(reader: Reader, say: pytest.CaptureFixture[str], *pages: str) -> None:
    """The pages that another one builds on; nothing happens when they have been followed."""
    for page in pages:
        reader.follow(page, say)


@pytest.mark.parametrize("page", [page for page in all_pages() if page not in ELSEWHERE])
def test_the_commands_of_a_page(page: str, reader: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    if page != "README.md" and not Path("out/demo").exists():
        follow_first(reader, capsys, "docs/tutorials/demo.md")
    reader.follow(page, capsys)


def test_the_demo_finds_the_topics(reader: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    """As shipped: the size and the counting of topics of conf/demo.toml."""
    follow_first(reader, capsys, "docs/tutorials/demo.md")
    said = reader.done["make demo"]
    assert "--k auto" in said
    assert "held out for testing: 500" in said
    assert "12 true topics, 12 found" in said
    assert float(re.search(r"mean error (\S+)", said)[1]) < 0.1
    assert "Seagate" in said
    assert "open the report in a browser: out/demo/report.html" in said
    assert "--input out/demo/notes" in said
    for folder, documents in (("notes", 1000), ("today", 200)):
        assert len(list(Path("out/demo", folder).glob("*/*/*.txt"))) == documents
    for part in ("corpus/corpus.json", "model/summary.json", "scores/_SUCCESS", "evaluation.json", "report.html"):
        assert Path("out/demo", part).exists()
    model = SpectralHDPModel.load("out/demo/model")
    corpus = model.summary.extra["corpus"]
    assert {name: corpus[name] for name in ("name", "dropped", "held_out")} == {
        "name": "demo", "dropped": {}, "held_out": 500}
    check_figures(model)


def check_figures(model: SpectralHDPModel) -> None:
    """The model's own methods for notebooks draw this model."""
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    (spectrum,) = model.plotSpectrum().axes
    assert len(spectrum.lines[0].get_xdata()) == model.k
    panels = [axes for axes in model.plotTopics(topics=3, words=5).axes if axes.get_visible()]
    largest = np.argsort(-model.weights)[:3]
    assert [int(axes.get_title(loc="left").split()[0]) for axes in panels] == largest.tolist()
    assert {len(axes.get_yticklabels()) for axes in panels} == {5}
    (tree,) = model.plotTree().axes
    assert len(tree.get_yticklabels()) == len(model.nodes.paths)
    given = model.toPyLDAvis()
    assert given["topic_term_dists"].shape == (model.k, model.vocabSize)
    assert list(given["vocab"]) == list(model.words)


def test_own_documents_become_a_report(reader: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    follow_first(reader, capsys, "docs/tutorials/demo.md", "docs/tutorials/own-documents.md")
    assert Path("out/notes/report.html").stat().st_size > 100_000
    assert Path("out/today/report.html").stat().st_size > 100_000


def test_the_python_example_shows_topics(reader: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    follow_first(reader, capsys, "docs/tutorials/demo.md")
    (example,) = blocks("README.md", "python")
    exec(example.code, {})
    assert "harbour" in capsys.readouterr().out


def test_updates_count_every_document_once(reader: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    follow_first(reader, capsys, "docs/tutorials/demo.md", "docs/guides/updating.md")
    documents = {
        name: json.loads(Path("out", name, "model", "summary.json").read_text())["documents"]
        for name in ("notes", "today", "without", "both")
    }
    assert documents["without"] == documents["notes"] < documents["today"] == documents["both"]
    for line in [line for line in reader.done if re.match(r"spectral-spark (update|basis)", line)]:
        reader.run(f"{line} --overwrite --dry-run")
        assert re.search(r"memory: (about .* GiB|documents stream)", capsys.readouterr().out), line


def test_features_are_counted(reader: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    follow_first(reader, capsys, "docs/guides/ibp.md")
    assert json.loads(Path("out/features/summary.json").read_text())["k"] == 2


@pytest.mark.data
def test_amazon(reader: Reader, capsys: pytest.CaptureFixture[str], real_data: Path) -> None:
    Path("data").mkdir(exist_ok=True)
    Path("data/sorted_data_acl").symlink_to(real_data / "amazon_reviews" / "sorted_data_acl")
    reader.follow(AMAZON, capsys)
    assert Path("out/amazon/report.html").exists()


@pytest.mark.data
def test_enron(reader: Reader, capsys: pytest.CaptureFixture[str], real_data: Path) -> None:
    Path("data").mkdir(exist_ok=True)
    enron_slice(real_data / "enron" / "enron_mail.tar.gz", Path.cwd(), mails=3000).rename("data/enron_mail.tar.gz")
    reader.follow(ENRON, capsys)
    assert Path("out/enron/report.html").exists()


@pytest.mark.cluster
def test_standalone(
    reader: Reader, capsys: pytest.CaptureFixture[str], standalone_cluster: StandaloneCluster
) -> None:
    follow_first(reader, capsys, "docs/tutorials/demo.md")
    if not Path("out/notes/corpus").exists():
        follow_first(reader, capsys, "docs/tutorials/own-documents.md")
    archive, line = [line for block in blocks(CLUSTER, "bash") if not block.not_run for line in block.commands]
    reader.run(archive)
    words = shlex.split(line)
    assert words[:3] == ["spark-submit", "--master", "spark://host:7077"]
    job = words.index("jobs/fit.py")
    done = submit(
        standalone_cluster.url, "jobs/fit.py", words[job + 1 :], options=words[3:job], cwd=Path.cwd(),
        conf={"spark.executor.memory": "1g"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "\nmodel out/cluster/model: 5 topics" in f"\n{done.stdout}"      # Spark mixes our progress into it
    assert " WARN " not in done.stderr, done.stderr[-2000:]      # Java itself says "WARNING: Using incubator modules"

"""Every command of the README is run; the few that cannot be run here are checked word for word.

Not run: downloads, containers, YARN and Kubernetes (their flags are checked against spark-submit's and the verb's), the
cron line (its verbs are parsed), and ``make test``, which is what runs this.
"""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spectral_spark import SpectralHDPModel
from spectral_spark.cli.parsing import Request, parse
from spectral_spark.cli.run import main
from spectral_spark.engine.memory import GIB, memory_need
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo
from tests.cluster.standalone import REPOSITORY, StandaloneCluster, spark_script, submit
from tests.jobs.corpora import enron_slice

README = (REPOSITORY / "README.md").read_text()
KINDS = ("make", "mkdir", "spectral-spark", "spark-submit", "docker compose", "docker build", "python -m zipfile",
         "30 2 * * *")


def blocks(language: str, section: str | None = None) -> list[str]:
    text = README
    if section is not None:
        text = re.split(r"^## ", README.split(f"\n## {section}\n")[1], flags=re.M)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def commands(section: str | None = None) -> list[str]:
    return [line.split("  #")[0].strip() for block in blocks("bash", section) for line in block.splitlines()]


def verb_words(line: str) -> list[str]:
    """The words of a spectral-spark or spark-submit command from its verb on."""
    words = shlex.split(line)
    if words[0] == "spectral-spark":
        return words[1:]
    job = next(place for place, word in enumerate(words) if re.search(r"jobs/\w+\.py$", word))
    return [Path(words[job]).stem, *words[job + 1 :]]


def run(line: str, spark: Any) -> None:
    assert main(verb_words(line), spark) == 0, line


def folders(place: Path, documents: int, seed: int) -> None:
    """Notes as text files in folders."""
    demo = simulate_demo(documents, seed)
    batch = demo.simulated.batch
    for i, node in enumerate(batch.nodes):
        own = slice(batch.indptr[i], batch.indptr[i + 1])
        words = np.repeat(np.array(demo.words)[batch.terms[own]], batch.counts[own].astype(int))
        folder = place.joinpath(*demo.simulated.tree.paths[node])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{seed}-{i}.txt").write_text(" ".join(words))


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Path]:
    """What a reader has at hand: the repository's folders, some notes of their own, and the demo's output."""
    place = tmp_path_factory.mktemp("readme")
    for name in ("conf", "jobs", "spectral_spark", "docker", "Makefile"):
        (place / name).symlink_to(REPOSITORY / name)
    folders(place / "notes", documents=400, seed=1)
    folders(place / "today", documents=100, seed=2)
    rows = np.random.default_rng(0)
    vectors = rows.integers(0, 2, (400, 2)) @ np.array([[3.0, 0, 3, 0], [0, 2, 0, 2]]) + rows.normal(0, 0.3, (400, 4))
    pq.write_table(pa.table({"x": vectors.tolist()}), place / "rows.parquet")
    (place / "out" / "demo").mkdir(parents=True)
    write_demo(simulate_demo(1000), place / "out" / "demo" / "notes.jsonl")
    (place / "data").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        yield place


def test_every_command_is_of_a_known_kind() -> None:
    assert len(commands()) > 20
    assert [line for line in commands() if not line.startswith(KINDS)] == []


def test_the_two_commands_are_targets() -> None:
    wanted = commands("Two commands")
    assert wanted == ["make demo", "make test"]
    said = subprocess.check_output(["make", "--dry-run", "demo", "test"], cwd=REPOSITORY, text=True)
    assert "spectral-spark demo" in said
    assert "pytest" in said


def test_the_demo(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As shipped: the size and the counting of topics of conf/demo.toml."""
    words = ["demo", "--config", str(REPOSITORY / "conf" / "demo.toml"), "--output", str(tmp_path / "demo")]
    assert main(words, spark) == 0
    said = capsys.readouterr().out
    assert "--k auto" in said
    assert "held out for testing: 500" in said
    assert "12 true topics, 12 found" in said
    assert float(re.search(r"mean error (\S+)", said)[1]) < 0.1
    assert "Seagate" in said
    assert f"open the report in a browser: {tmp_path}/demo/report.html" in said
    assert f"--input {tmp_path}/demo/notes" in said
    for folder, documents in (("notes", 1000), ("today", 200)):
        assert len(list((tmp_path / "demo" / folder).glob("*/*/*.txt"))) == documents
    for part in ("corpus/corpus.json", "model/summary.json", "scores/_SUCCESS", "evaluation.json", "report.html"):
        assert (tmp_path / "demo" / part).exists()
    model = SpectralHDPModel.load(str(tmp_path / "demo" / "model"))
    assert model.summary.extra["corpus"] == {"name": "demo", "dropped": {}, "held_out": 500}
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


def test_your_documents(workplace: Path, spark: Any) -> None:
    for line in commands("Your documents"):
        run(line, spark)
    assert (workplace / "out" / "notes" / "report.html").stat().st_size > 100_000


def test_the_python_example(workplace: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python", "In Python")
    lines = [line for line in code.splitlines() if line and not line.startswith(("from", "import"))]
    assert len(lines) <= 10
    exec(code.replace('"out/demo', f'"{workplace}/out/demo'), {})
    assert "harbour" in capsys.readouterr().out


def test_day_after_day(workplace: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    if not (workplace / "out" / "notes" / "model").exists():
        for line in commands("Your documents")[:3]:
            run(line, spark)
    for line in commands("Day after day"):
        capsys.readouterr()
        run(f"{line} --dry-run", spark)
        assert re.search(r"memory: (about .* GiB|documents stream)", capsys.readouterr().out), line
        run(line, spark)
    documents = {
        name: json.loads((workplace / "out" / name / "model" / "summary.json").read_text())["documents"]
        for name in ("notes", "today", "without", "both")
    }
    assert documents["without"] == documents["notes"] < documents["today"] == documents["both"]


def test_features_of_vectors(workplace: Path, spark: Any) -> None:
    (line,) = commands("Features of vectors")
    run(line, spark)
    assert json.loads((workplace / "out" / "features" / "summary.json").read_text())["k"] == 2


@pytest.mark.data
def test_amazon(workplace: Path, spark: Any, real_data: Path) -> None:
    (workplace / "data" / "sorted_data_acl").symlink_to(real_data / "amazon_reviews" / "sorted_data_acl")
    download, *steps = commands("Amazon, step by step")
    assert "curl" in download
    for line in steps:
        run(line, spark)
    assert (workplace / "out" / "amazon" / "report.html").exists()


@pytest.mark.data
def test_enron(workplace: Path, spark: Any, real_data: Path) -> None:
    archive = enron_slice(real_data / "enron" / "enron_mail.tar.gz", workplace, mails=3000)
    archive.rename(workplace / "data" / "enron_mail.tar.gz")
    download, *steps = commands("Enron, step by step")
    assert "curl" in download
    for line in steps:
        run(line, spark)
    assert (workplace / "out" / "enron" / "report.html").exists()


@pytest.mark.cluster
def test_standalone(workplace: Path, spark: Any, standalone_cluster: StandaloneCluster) -> None:
    archive, line = commands("On a cluster")[:2]
    subprocess.run(archive.replace("python", shutil.which("python3") or "python3", 1), shell=True, check=True)
    if not (workplace / "out" / "notes" / "corpus").exists():
        run(commands("Your documents")[0], spark)
    words = shlex.split(line)
    assert words[:3] == ["spark-submit", "--master", "spark://host:7077"]
    job = words.index("jobs/fit.py")
    done = submit(
        standalone_cluster.url, "jobs/fit.py", words[job + 1 :], options=words[3:job], cwd=workplace,
        conf={"spark.executor.memory": "1g"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("model out/cluster/model: 5 topics")
    assert " WARN " not in done.stderr, done.stderr[-2000:]      # Java itself says "WARNING: Using incubator modules"


def test_flags_of_what_cannot_run_here() -> None:
    answer = subprocess.run([spark_script("spark-submit"), "--help"], capture_output=True, text=True, check=False)
    known = set(re.findall(r"--[a-z][\w-]+", answer.stderr + answer.stdout))
    submits = [line for line in commands() if line.startswith("spark-submit")]
    assert [shlex.split(line)[2].split(":")[0] for line in submits] == ["spark", "yarn", "k8s"]
    for line in submits:
        words = shlex.split(line)
        job = next(place for place, word in enumerate(words) if word.endswith("jobs/fit.py"))
        flags = [word for word in words[1:job] if word.startswith("--")]
        assert set(flags) <= known
        assert isinstance(parse(verb_words(line)), Request)
        for path in re.findall(r"(?<![\w/.])(?:conf|docker)/[\w.-]+", line):
            assert (REPOSITORY / path).exists()


def test_scheduled_runs_parse() -> None:
    (line,) = commands("Scheduled runs")
    command, *words = shlex.split(line.removeprefix("30 2 * * *").replace(r"$(date -d yesterday +\%F)", "2026-01-31"))
    assert command.startswith("SPECTRAL_SPARK=/")
    assert words[1:4] == ["2026-01-31", "/data/topics", "/data/mail/2026-01-31"]
    assert words[0].startswith("/opt/spectral_spark/")      # cron knows neither our folder nor our PATH
    assert os.access(REPOSITORY / words[0].removeprefix("/opt/spectral_spark/"), os.X_OK)
    assert isinstance(parse(["ingest", "--input", words[3], "--output", "corpus", *words[4:]]), Request)
    assert (REPOSITORY / "conf/pipeline/nightly_dag.py").exists()
    (code,) = blocks("python", "Scheduled runs")
    (call,) = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    settings = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert isinstance(parse(verb_words(settings["bash_command"].replace("{{ ds }}", "2026-01-31"))), Request)


def test_containers_are_started_from_the_file_that_exists() -> None:
    lines = [shlex.split(line) for line in commands("On a cluster") if line.startswith("docker compose")]
    assert len(lines) == 3
    for words in lines:
        assert (REPOSITORY / words[words.index("-f") + 1]).exists()
    job = lines[1]
    assert isinstance(parse(job[job.index("job") + 1 :]), Request)


def test_the_image_of_kubernetes_has_what_is_submitted_to_it() -> None:
    build, submitted = (next(line for line in commands("On a cluster") if line.startswith(start))
                        for start in ("docker build", "spark-submit --master k8s"))
    words = shlex.split(build)
    dockerfile = (REPOSITORY / words[words.index("--file") + 1]).read_text()
    stage = re.split(r"^FROM .* AS ", dockerfile, flags=re.M)[-1]
    assert stage.split()[0] == words[words.index("--target") + 1]
    assert words[words.index("--tag") + 1] in submitted
    job = re.search(r"local://(\S+)/jobs/fit.py", submitted)
    assert f"WORKDIR {job[1]}" in stage
    assert "COPY jobs jobs" in stage
    assert "s3://" not in README                            # Hadoop has no such file system


def test_the_memory_that_limits_is_what_a_dry_run_says() -> None:
    said = re.search(r"a million words and fifty topics needs about (\S+) GiB there,\s+and (\S+) GiB", README)
    columns = FitSettings(k=50).basis_columns(1_000_000)
    need = memory_need(1_000_000, columns, 50)
    assert [float(number) for number in said.groups()] == [round(part / GIB, 1) for part in (need.driver, need.worker)]


def test_links_and_paths_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?://)([^)#]+)\)", README):
        assert (REPOSITORY / target).exists(), target
    assert "TODO" not in README

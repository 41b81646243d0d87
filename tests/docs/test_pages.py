"""What can be checked of the documentation without running it: links, flags of what cannot run here, versions."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from spectral_spark.cli.parsing import Request, parse
from spectral_spark.engine.memory import GIB, memory_need
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.version import __version__
from tests.cluster.standalone import REPOSITORY, spark_script
from tests.docs.pages import Block, all_pages, blocks, commands, text_of, verb_words

DEPLOYING, UPDATING = "docs/guides/deploying.md", "docs/guides/updating.md"
LANGUAGES = {"bash", "python", "text", "toml", "json", "yaml", ""}
COMMAND = re.compile(r"^(spectral-spark|spark-submit|make|pip|python|docker|source|curl) ", re.M)


@pytest.mark.parametrize("page", all_pages())
def test_a_page_has_blocks_that_a_test_knows_how_to_treat_and_links_that_lead_somewhere(page: str) -> None:
    text = text_of(page)
    assert text.count("\n```") % 2 == 0
    assert {block.language for block in blocks(page)} <= LANGUAGES
    assert len(blocks(page)) == text.count("\n```") // 2, "a block is not seen by the tests"
    for block in blocks(page):
        assert block.language in ("bash", "python") or not COMMAND.search(block.code), "commands belong in bash blocks"
    for target in re.findall(r"\]\((?!https?://|#)([^)#\s]+)", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)):
        assert (REPOSITORY / page).parent.joinpath(target).exists(), target
    assert not re.search(r"\b(TODO|FIXME)\b", text)
    assert "s3://" not in text                                  # Hadoop has no such file system


def test_what_is_not_run_has_a_reason_of_some_words() -> None:
    marked = [block for page in all_pages() for block in blocks(page) if block.not_run]
    assert len(marked) > 5
    assert [block for block in marked if len(block.not_run.split()) < 2] == []
    comments = sum(text_of(page).count("\n<!-- not run") for page in all_pages())
    assert comments == len(marked), "a comment is not right before its block"


def test_a_block_is_marked_only_by_the_comment_right_before_it() -> None:
    from tests.docs.pages import _BLOCK

    text = "<!-- not run: x y -->\n```bash\nls\n```\n\n```bash\nmake\n```\n"
    found = [Block(match["language"], match["code"], match["reason"]) for match in _BLOCK.finditer(text)]
    assert [(block.commands, block.not_run) for block in found] == [(["ls"], "x y"), (["make"], None)]


def test_the_readme_says_what_the_spectral_start_is_worth() -> None:
    """After EM alone a random start is as good, and readers are told so beside our results."""
    text = " ".join(text_of("README.md").split())
    assert re.search(r"After EM alone a random start is as good; after sampling it is behind by 0\.\d+", text)
    assert "The spectral solution alone is a start, not a result" in text


def test_the_readme_is_one_page_with_the_two_commands_and_a_short_example() -> None:
    text = text_of("README.md")
    assert len(text.splitlines()) <= 170
    assert [line for line in commands("README.md") if line.startswith("make")] == ["make demo", "make test"]
    said = subprocess.check_output(["make", "--dry-run", "demo", "test"], cwd=REPOSITORY, text=True)
    assert "spectral-spark demo" in said
    assert "pytest" in said
    assert ".venv/bin/activate" in said
    (example,) = blocks("README.md", "python")
    assert len([line for line in example.code.splitlines() if line]) <= 15
    for author in ("Hsiao-Yu Fish Tung", "Chao-Yuan Wu", "Manzil Zaheer", "Alexander J. Smola"):
        assert author in " ".join(text.split())


def test_the_site_builds_strictly_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the site is built by mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    built = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    for page in ("index.html", "benchmarks/results/peers-enron.html", "reference/api.html", "CONTRIBUTING.html"):
        assert (tmp_path / page).exists(), page
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|link)[^>]*?(?:src|href)="(https?:[^"]*)"', page.read_text())
        assert loaded == [], f"{page} loads from a network"


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the site is built by mkdocs")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[nowhere](missing.md)\n")
    settings = yaml.unsafe_load((REPOSITORY / "mkdocs.yml").read_text())
    own = {"site_name": "x", "validation": settings["validation"], "theme": {"name": "mkdocs"}, "plugins": []}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(own))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode != 0
    assert "missing.md" in built.stderr


def test_flags_of_what_cannot_run_here() -> None:
    answer = subprocess.run([spark_script("spark-submit"), "--help"], capture_output=True, text=True, check=False)
    known = set(re.findall(r"--[a-z][\w-]+", answer.stderr + answer.stdout))
    submits = [line for line in commands(DEPLOYING) if line.startswith("spark-submit")]
    assert [shlex.split(line)[2].split(":")[0] for line in submits] == ["spark", "yarn", "yarn", "k8s"]
    for line in submits:
        words = shlex.split(line)
        job = next(place for place, word in enumerate(words) if word.endswith("jobs/fit.py"))
        flags = [word for word in words[1:job] if word.startswith("--")]
        assert set(flags) <= known
        assert isinstance(parse(verb_words(line)), Request)
        for path in re.findall(r"(?<![\w/.])(?:conf|docker)/[\w.-]+", line):
            assert (REPOSITORY / path).exists()


def test_benchmarks_that_are_named_exist() -> None:
    for page in all_pages():
        for path in re.findall(r"python (benchmarks/\w+\.py)", text_of(page)):
            assert (REPOSITORY / path).exists(), path


def test_scheduled_runs_parse() -> None:
    (line,) = [line for line in commands(UPDATING) if line.startswith("30 2")]
    command, *words = shlex.split(line.removeprefix("30 2 * * *").replace(r"$(date -d yesterday +\%F)", "2026-01-31"))
    assert command.startswith("SPECTRAL_SPARK=/")
    assert words[1:4] == ["2026-01-31", "/data/topics", "/data/mail/2026-01-31"]
    assert words[0].startswith("/opt/spectral_spark/")      # cron knows neither our folder nor our PATH
    assert os.access(REPOSITORY / words[0].removeprefix("/opt/spectral_spark/"), os.X_OK)
    assert isinstance(parse(["ingest", "--input", words[3], "--output", "corpus", *words[4:]]), Request)
    assert (REPOSITORY / "conf/pipeline/nightly_dag.py").exists()
    (block,) = [block for block in blocks(UPDATING, "python") if "BashOperator" in block.code]
    (call,) = [node for node in ast.walk(ast.parse(block.code)) if isinstance(node, ast.Call)]
    settings = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert isinstance(parse(verb_words(settings["bash_command"].replace("{{ ds }}", "2026-01-31"))), Request)


def test_containers_are_started_from_the_file_that_exists() -> None:
    lines = [shlex.split(line) for line in commands(DEPLOYING) if line.startswith("docker compose")]
    assert len(lines) == 3
    for words in lines:
        assert (REPOSITORY / words[words.index("-f") + 1]).exists()
    job = lines[1]
    assert isinstance(parse(job[job.index("job") + 1 :]), Request)


def test_the_image_of_kubernetes_has_what_is_submitted_to_it() -> None:
    build, submitted = (next(line for line in commands(DEPLOYING) if line.startswith(start))
                        for start in ("docker build", "spark-submit --master k8s"))
    words = shlex.split(build)
    dockerfile = (REPOSITORY / words[words.index("--file") + 1]).read_text()
    stage = re.split(r"^FROM .* AS ", dockerfile, flags=re.M)[-1]
    assert stage.split()[0] == words[words.index("--target") + 1]
    assert words[words.index("--tag") + 1] in submitted
    job = re.search(r"local://(\S+)/jobs/fit.py", submitted)
    assert f"WORKDIR {job[1]}" in stage
    assert "COPY jobs jobs" in stage


def test_the_memory_that_limits_is_what_a_dry_run_says() -> None:
    text = text_of("docs/guides/capacity.md")
    said = re.search(r"a million words and fifty topics needs about (\S+) GiB there,\s+and (\S+) GiB", text)
    columns = FitSettings(k=50).basis_columns(1_000_000)
    need = memory_need(1_000_000, columns, 50)
    assert [float(number) for number in said.groups()] == [round(part / GIB, 1) for part in (need.driver, need.worker)]


def test_the_readme_repeats_the_numbers_of_the_benchmarks() -> None:
    """Every loss of the small table is in the large one."""
    table = text_of("README.md").split("## How good it is")[1].split("Read it with care")[0]
    losses = set(re.findall(r"\b[78]\.\d{3}\b", table))
    assert len(losses) > 10
    assert losses <= set(re.findall(r"\b[78]\.\d{3}\b", text_of("docs/benchmarks.md")))


def test_every_format_is_listed_with_its_version() -> None:
    said = dict(re.findall(r"^\| `(spectral-[\w-]+)` \| (\d+) \|", text_of("docs/formats.md"), re.M))
    code = "\n".join(path.read_text() for path in (REPOSITORY / "spectral_spark").rglob("*.py"))
    assert said == dict(re.findall(r'^\w+_KIND, \w+_VERSION = "(spectral-[\w-]+)", (\d+)$', code, re.M))


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    assert citation["license"] == "Apache-2.0"
    assert [person["family-names"] for person in citation["preferred-citation"]["authors"]] == [
        "Tung", "Wu", "Zaheer", "Smola"]
    changes = text_of("CHANGELOG.md")
    assert "\n## Unreleased\n" in changes
    assert f"\n## {__version__}" in changes
    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text())
    lint = subprocess.check_output(["make", "--dry-run", "lint"], cwd=REPOSITORY, text=True)
    for hook in hooks["repos"][0]["hooks"]:
        assert hook["entry"].split(" --")[0] in lint
    assert "Apache License" in (REPOSITORY / "LICENSE").read_text()

"""The container files name things that exist: versions, paths, classes, verbs. The topology runs as processes."""

import os
import re
import zipfile
from pathlib import Path

import pyspark
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from spectral_spark.files.toml import tomllib

REPOSITORY = Path(__file__).parents[2]
DOCKER = REPOSITORY / "docker"


@pytest.fixture(scope="module")
def compose() -> dict:
    return yaml.safe_load((DOCKER / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def dockerfile() -> str:
    return (DOCKER / "Dockerfile").read_text()


def requirements() -> dict[str, Version]:
    lines = (DOCKER / "requirements.txt").read_text().splitlines()
    pinned = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pinned)
    return {name: Version(version) for name, version in pinned}


def test_every_runtime_dependency_is_pinned_within_its_range() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    pinned = requirements()
    for text in project["dependencies"]:
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"python_version": "3.11"}):       # the Python of the image
            continue
        assert any(bound.operator == "<" for bound in wanted.specifier), f"{wanted.name} has no upper bound"
        assert pinned[wanted.name] in wanted.specifier


def test_base_image_is_pinned_and_python_is_the_same_everywhere(dockerfile: str) -> None:
    bases = re.findall(r"^FROM (\S+)", dockerfile, re.M)
    assert bases[1:] == ["cluster", "${SPARK_IMAGE}"]
    assert re.search(r"^ARG SPARK_IMAGE=\S+:(\S+)$", dockerfile, re.M)[1] == str(requirements()["pyspark"])
    version = re.fullmatch(r"python:(\d+\.\d+)\.\d+-slim-bookworm", bases[0])
    assert version
    assert set(re.findall(r"python(\d+\.\d+)", dockerfile)) == {version[1]}
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert Version(version[1]) in Requirement(f"x{project['requires-python']}").specifier


def test_copied_files_exist_and_are_not_ignored(dockerfile: str) -> None:
    kept = (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
    for line in re.findall(r"^COPY (.+)$", dockerfile, re.M):
        for source in line.split()[:-1]:
            assert (REPOSITORY / source).exists(), source
            assert f"!{source}" in kept


def test_containers_run_as_an_ordinary_user(dockerfile: str) -> None:
    for stage in dockerfile.split("\nFROM ")[1:]:
        assert re.findall(r"^USER (\S+)", stage, re.M)[-1] in ("spark", "185")


def test_compose_has_the_topology(compose: dict) -> None:
    services = compose["services"]
    assert set(services) == {"master", "worker-1", "worker-2", "history", "job"}
    for name, service in services.items():
        image, tag = service["image"].split(":")
        assert tag not in ("", "latest")
        target = "job" if name == "job" else "cluster"
        assert image == f"spectral-spark/{target}"
        assert service["build"] == {"context": "..", "dockerfile": "docker/Dockerfile", "target": target}
        assert "data:/data" in service["volumes"]
    for worker in ("worker-1", "worker-2"):
        assert services[worker]["command"][-1] == "spark://master:7077"
        assert services[worker]["depends_on"]["master"]["condition"] == "service_healthy"


def test_ports_are_published_on_this_machine_only_unless_asked_otherwise(compose: dict) -> None:
    published = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert published == [f"${{SPECTRAL_BIND:-127.0.0.1}}:{port}:{port}" for port in (8080, 18080)]


def test_classes_that_containers_start_are_in_the_pinned_spark(compose: dict) -> None:
    pinned = requirements()["pyspark"].release[:2]
    if Version(pyspark.__version__).release[:2] < pinned:
        pytest.skip("this Spark is older than the one in the images")
    jars = Path(pyspark.__file__).parent / "jars"
    core = next(jars.glob("spark-core_*.jar"))
    assert Version(pyspark.__version__).release[:2] == pinned
    known = set(zipfile.ZipFile(core).namelist())
    for name in ("master", "worker-1", "worker-2", "history"):
        script, main, *_ = compose["services"][name]["command"]
        assert script == "spark-class"
        assert main.replace(".", "/") + ".class" in known


def test_the_submit_script_names_what_the_job_image_has(compose: dict, dockerfile: str) -> None:
    script = (DOCKER / "submit").read_text()
    assert os.access(DOCKER / "submit", os.X_OK)
    job = dockerfile.split(" AS job")[1]
    assert "/opt/spectral_spark/docker/submit" in job
    for path in re.findall(r"\$home/([\w./-]+)", script):
        assert path in ("jobs/", "spectral_spark.zip") or (REPOSITORY / path).exists(), path
    assert "zipfile --create spectral_spark.zip spectral_spark" in job
    verb = compose["services"]["job"]["command"][0]
    assert (REPOSITORY / "jobs" / f"{verb}.py").exists()


def test_an_executor_fits_into_a_worker(compose: dict) -> None:
    command = compose["services"]["worker-1"]["command"]
    worker = int(command[command.index("--memory") + 1].removesuffix("g"))
    executor = int(re.search(r"spark\.executor\.memory=(\d+)g", (DOCKER / "submit").read_text())[1])
    assert executor <= worker

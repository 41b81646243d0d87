"""All of ``SpectralHDP`` through Spark Connect, from a client that has neither Java nor the full pyspark."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.platforms.connect_server import connect_server, serverless_gate

pytestmark = [pytest.mark.platforms, pytest.mark.timeout(3600)]
EVERYTHING, WIDE = (Path(__file__).parent / name for name in ("everything.py", "wide_fit.py"))
ROOT = Path(__file__).parents[2]
NEEDED = ("numpy", "scipy", "pyarrow", "pandas", "psutil", "threadpoolctl", "numba", "jinja2", "findspark")


@pytest.fixture(scope="module")
def client() -> str:
    """The Python of an environment with pyspark-client alone; made once, kept in ``build/``."""
    if given := os.environ.get("SPECTRAL_CLIENT_PYTHON"):
        return given
    home = ROOT / "build" / "client"
    python = home / "bin" / "python"
    if not (home / "complete").exists():
        venv.create(home, with_pip=True)
        major, minor = version("pyspark").split(".")[:2]
        wanted = [f"pyspark-client>=4.0,<{major}.{int(minor) + 1}", *(f"{name}=={version(name)}" for name in NEEDED)]
        command = [str(python), "-m", "pip", "install", "-q", *wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"pyspark-client cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
        (home / "complete").touch()
    return str(python)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect"), ROOT) as address:
        yield address


def everything(python: str, place: Path, *words: str, script: Path = EVERYTHING, **environment: str) -> dict[str, str]:
    place.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "JAVA"))}
    clean |= {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": python, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([python, str(script), str(place / "answer.json"), str(place), *words], cwd=place, check=False,
                          capture_output=True, text=True, timeout=1800, env=clean | environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, str] = json.loads((place / "answer.json").read_text())
    return found


@pytest.fixture(scope="module")
def classic(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The hashes of a classic session, with all work on the driver."""
    place, java = tmp_path_factory.mktemp("classic") / "all", os.environ.get("JAVA_HOME", "")
    found = everything(sys.executable, place, JAVA_HOME=java)
    assert found.pop("py4j")
    return found


def test_the_client_package_alone_gives_the_same_bits(
    client: str, server: str, classic: dict[str, str], tmp_path: Path
) -> None:
    found = everything(client, tmp_path / "all", f"remote=sc://{server}", SPECTRAL_DRIVER_ENTRIES="0")
    assert not found.pop("py4j")
    assert found == classic


@pytest.mark.parametrize("staging", ["directory", "schema", "nowhere"])
def test_a_server_that_keeps_nothing_and_takes_small_plans_gives_the_same_bits(
    client: str, server: str, classic: dict[str, str], tmp_path: Path, staging: str
) -> None:
    place = {"directory": str(tmp_path / "staged"), "schema": "default", "nowhere": ""}[staging]
    with serverless_gate(server, most_plan_bytes=1 << 20) as gate:
        found = everything(client, tmp_path / "all", f"remote=sc://{gate.address}", "inside=10000",
                           SPECTRAL_DRIVER_ENTRIES="0", SPECTRAL_STAGING=place)
    assert not found.pop("py4j")
    assert found == classic
    assert gate.refused
    assert not [why for why in gate.refused if "TOO_LARGE" in why]
    assert gate.uploaded > 0
    if staging == "directory":
        left = [file for file in (tmp_path / "staged").rglob("*.parquet") if file.stat().st_size > 10_000]
        assert not left                                     # the rows are gone when the fit is done


def test_arrays_of_more_than_ten_million_numbers_travel_as_files(client: str, server: str, tmp_path: Path) -> None:
    with serverless_gate(server, most_plan_bytes=8 << 20) as gate:
        found = everything(client, tmp_path / "remote", f"remote=sc://{gate.address}", script=WIDE,
                           SPECTRAL_DRIVER_ENTRIES="0", SPECTRAL_STAGING=str(tmp_path / "staged"))
    assert not found.pop("py4j")
    assert found["numbers"] >= 10_000_000
    assert not [why for why in gate.refused if "TOO_LARGE" in why]
    assert gate.uploaded > 8 * 10_000_000
    assert gate.largest_answer < 64 << 20                   # half of what a message may have
    classic = everything(sys.executable, tmp_path / "classic", script=WIDE, JAVA_HOME=os.environ.get("JAVA_HOME", ""))
    assert classic.pop("py4j")
    assert found == classic

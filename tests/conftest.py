"""Fixtures shared by all tests: one real local Spark session, and where the real data is."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spectral_spark.engine.choose_corpus import SETTING
from spectral_spark.engine.java import use_java
from tests.cluster.standalone import QUICK_JVM

pytest_plugins = ["tests.cluster.fixtures", "tests.simulated_documents"]

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK_JVM)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files that start clusters first: they take longest, and two processes then end at about the same time.

    Tests of platforms run only if the marker asks for them (`make test-platforms`).
    """
    if "platforms" not in config.option.markexpr:
        items[:] = [item for item in items if item.get_closest_marker("platforms") is None]
    clusters = {item.path for item in items if "cluster" in item.keywords}
    items.sort(key=lambda item: item.path not in clusters)


def data_root() -> Path:
    """The folder of real corpora; a test that needs it skips when it is absent."""
    root = Path(os.environ.get("SPECTRAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not root.is_dir():
        pytest.skip(f"real corpora not found at {root}; set SPECTRAL_DATA")
    return root


@pytest.fixture(scope="session")
def real_data() -> Path:
    return data_root()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["object"]:
    from pyspark.sql import SparkSession

    use_java()                                              # the machine's, or the one `make test` has installed
    os.environ["PYSPARK_PYTHON"] = sys.executable          # workers with this environment, not PATH's python3
    scratch = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("spectral_spark tests")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")                # no port per test run
        .config("spark.sql.shuffle.partitions", "4")        # tiny data: 200 empty tasks cost seconds
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def on_executors(spark: Any) -> Iterator[None]:
    """Corpora of any size are worked on by executors; small ones would not leave the driver."""
    spark.conf.set(SETTING, "0")
    yield
    spark.conf.unset(SETTING)

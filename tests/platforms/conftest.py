"""A Spark session with the S3A connector, and a store on loopback. `make test-platforms` runs these tests."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spectral_spark.engine.java import use_java
from tests.platforms.store import Store, maven_jars, s3a_settings, started_store

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / "build" / "jars"


@pytest.fixture(scope="session")
def store() -> Iterator[Store]:
    pytest.importorskip("moto", reason="moto is not installed: pip install 'spectral-spark[platforms]'")
    with started_store() as running:
        yield running


@pytest.fixture(scope="session")
def spark(store: Store) -> Iterator[Any]:
    """In place of the session of the other tests: the same Spark with the connector of S3A."""
    pyspark = pytest.importorskip("pyspark")
    if not pyspark.__version__.startswith("4.3"):
        pytest.skip(f"the connector's jars are those of Spark 4.3, and this is {pyspark.__version__}")
    jars = maven_jars(HERE / "s3a.pom.xml", CACHE)
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.jars": ",".join(jars), "spark.driver.memory": "2g", "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        **s3a_settings(store),
    }
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("spectral_spark platforms")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()

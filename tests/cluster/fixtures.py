"""One standalone cluster for all tests that need one; it starts when the first of them does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.standalone import StandaloneCluster, package_archive


@pytest.fixture(scope="session")
def standalone_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    cluster = StandaloneCluster(tmp_path_factory.mktemp("cluster")).start()
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def package_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package_archive(tmp_path_factory.mktemp("package"))

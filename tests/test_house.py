"""The house rules that a reader relies on: which rooms know Spark and which do not."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["tree", "moments", "solve", "refine", "ibp"])
def test_numpy_packages_never_import_spark(package: str) -> None:
    code = (
        "import importlib, pkgutil, sys\n"
        f"package = importlib.import_module('spectral_spark.{package}')\n"
        "for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    importlib.import_module(module.name)\n"
        "sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

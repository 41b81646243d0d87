"""``spark-submit --master yarn`` as docs/guides/deploying.md says it: Python and its packages travel in an archive."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.standalone import QUICK_JVM, REPOSITORY

KERNELS = {"OPENBLAS_CORETYPE"}         # of linear algebra: last bits differ, and containers inherit no environment
_PACK = "import venv_pack; venv_pack.pack(prefix={prefix!r}, output={output!r}, force=True)"


def packed_environment(cache: Path) -> Path:
    """What the executors need, without Spark, packed by venv-pack; made once."""
    folder, archive = cache / "packed", cache / "packed.tar.gz"
    if archive.exists():
        return archive
    pytest.importorskip("venv_pack", reason="venv-pack is not installed: pip install 'spectral-spark[platforms]'")
    making = cache / "packed-unfinished.tar.gz"
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(folder / "bin" / "pip"), "install", "--quiet", "--constraint", "docker/requirements.txt", "."],
        [sys.executable, "-c", _PACK.format(prefix=str(folder), output=str(making))],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
        if done.returncode:
            pytest.skip(f"the environment could not be packed: {(done.stderr or done.stdout).strip()[-200:]}")
    making.rename(archive)
    return archive


def yarn_settings(mode: str) -> dict[str, str]:
    """What keeps containers small, on this machine and on loopback."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    settings = {
        "spark.yarn.jars": f"local:{jars}/*",               # the nodes are this machine: nothing to upload
        "spark.executor.instances": "2", "spark.executor.memory": "700m", "spark.yarn.am.memory": "512m",
        "spark.executor.extraJavaOptions": QUICK_JVM, "spark.yarn.am.extraJavaOptions": QUICK_JVM,
        "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1", "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
        "spark.executor.memoryOverheadFactor": "0.2",
    }
    for name in KERNELS & os.environ.keys():
        settings |= {f"spark.executorEnv.{name}": os.environ[name], f"spark.yarn.appMasterEnv.{name}": os.environ[name]}
    if mode == "client":
        settings |= {"spark.driver.host": "127.0.0.1"}
    else:
        settings |= {"spark.driver.extraJavaOptions": QUICK_JVM}
    return settings

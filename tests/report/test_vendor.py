"""The inlined libraries are the published ones, small, and come with their licences."""

import hashlib
from pathlib import Path

import pytest

VENDOR = Path(__file__).parents[2] / "spectral_spark" / "report" / "vendor"


@pytest.mark.parametrize(("name", "licence", "digest"), [
    ("d3.min.js", "d3.LICENSE.txt", "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1"),
    ("plot.umd.min.js", "plot.LICENSE.txt", "4358086467740777dd788d6b27a95cebdbaefdd50c730a3060117073bd7134cb"),
])
def test_library(name: str, licence: str, digest: str) -> None:
    data = (VENDOR / name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == digest
    assert len(data) < 400_000
    assert "Permission to use, copy, modify" in (VENDOR / licence).read_text()
    assert name in (VENDOR / "README.txt").read_text()

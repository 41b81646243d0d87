"""Saved corpora, models, moments and bases, damaged at random in a way that their manifests do not show.

Whatever is read is sound, or refused by an error of ours that names a file. ``SPECTRAL_FUZZ_SECONDS`` gives each test
more than its 2 seconds; a failure names the seed, and ``SPECTRAL_FUZZ_SEED`` begins with it.
"""

import hashlib
import io
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spectral_spark import MomentState, SpectralHDP, SpectralHDPModel, SpectralIBP, SpectralIBPModel
from spectral_spark.cli.run import main
from spectral_spark.errors import SpectralError
from spectral_spark.ingest.corpus_store import open_corpus
from spectral_spark.ingest.saved_vocabulary import saved_words
from spectral_spark.ingest.simulate import simulate_hdp
from spectral_spark.moments.basis import Basis
from tests.simulated_documents import corpus_frame

SECONDS = float(os.environ.get("SPECTRAL_FUZZ_SECONDS", "2"))
FIRST = int(os.environ.get("SPECTRAL_FUZZ_SEED", "0"))
STRANGE: tuple[Any, ...] = (None, True, -1, 0, 2**70, 1e308, "", "x", "\0", [], {}, [[]], {"": None}, [1, "a", None])


def read_topic_model(spark: SparkSession, path: str) -> None:
    model = SpectralHDPModel.load(path)
    topics = model.topicsMatrix()
    assert np.all(np.isfinite(topics))
    assert np.all(topics >= 0)
    assert np.all(np.asarray(model._fitted.nodes.proportions) >= 0)
    _ = model.moments
    str(model)


def read_feature_model(spark: SparkSession, path: str) -> None:
    model = SpectralIBPModel.load(path)
    assert np.all(np.isfinite(model.features.dictionary))
    assert np.all((model.features.probabilities >= 0) & (model.features.probabilities <= 1))
    assert model.features.noise_variance >= 0


def read_corpus(spark: SparkSession, path: str) -> None:
    corpus = open_corpus(spark, path)
    assert len(corpus.vocabulary) == corpus.manifest["terms"]
    saved_words(path)


READERS: dict[str, Callable[[SparkSession, str], object]] = {
    "model": read_topic_model, "features": read_feature_model, "corpus": read_corpus,
    "moments": lambda _, path: MomentState.load(path), "basis": lambda _, path: Basis.load(path),
}


@pytest.fixture(scope="module")
def originals(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("originals")
    simulated = simulate_hdp((30, 2), {"a": 60, "b": {"x": 30, "y": 30}}, [5.0, 5.0, 0.5], (15, 30), seed=2)
    words = [f"word{i}" for i in range(30)]
    hdp = SpectralHDP(termsCol="terms", countsCol="counts", vocabulary=words, idCol="doc_id", k=2, refinePasses=1,
                      exploreSweeps=1, concentrations=[5.0, 5.0, 0.5])
    fitted = hdp.fit(corpus_frame(spark, simulated))
    fitted.save(str(home / "model"))
    assert fitted.moments is not None
    fitted.moments.save(str(home / "moments"))
    fitted.moments.basis.save(str(home / "basis"))
    rng = np.random.default_rng(5)
    rows = (rng.random((300, 2)) < 0.4) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(300, 6))
    frame = spark.createDataFrame([(row,) for row in rows.tolist()], "features array<double>")
    SpectralIBP(k=2).fit(frame).save(str(home / "features"))
    for number in range(30):
        (home / "notes" / "ab"[number % 2]).mkdir(parents=True, exist_ok=True)
        text = " ".join(rng.choice(["sail", "boat", "oven", "flour", "salt", "wind"], 12))
        (home / "notes" / "ab"[number % 2] / f"{number}.txt").write_text(text)
    command = ["ingest", "--source", "folders", "--input", home / "notes", "--output", home / "corpus",
               "--min-documents", "1", "--max-document-share", "1"]
    assert main([str(word) for word in command], spark) == 0
    return home


def damaged_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Other bytes in a few places, or only a part of the file."""
    content = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        content[int(rng.integers(len(content)))] = int(rng.integers(256))
    return bytes(content[: int(rng.choice([len(content), len(content), len(content) // 2, 15, 0]))])


def damaged_json(data: bytes, rng: np.random.Generator) -> bytes:
    """One value, at any depth, replaced by a strange one, or deleted."""
    value = json.loads(data)
    parents: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in (list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()):
            parents.append((node, key))
            walk(node[key])

    walk(value)
    parent, key = parents[int(rng.integers(len(parents)))]
    if rng.random() < 0.2:
        del parent[key]
    else:
        parent[key] = STRANGE[int(rng.integers(len(STRANGE)))]
    return json.dumps(value).encode()


def damaged_array(data: bytes, rng: np.random.Generator) -> bytes:
    """Another shape, type or number."""
    array = np.load(io.BytesIO(data))
    if array.size:
        flat = array.astype(rng.choice([array.dtype.str, "<f8", "<i8", "<c16", "<U3"])).ravel()
        if flat.dtype.kind == "f":
            flat[int(rng.integers(flat.size))] = rng.choice([np.nan, np.inf, -1.0, 1e300])
        elif flat.dtype.kind == "i":
            flat[int(rng.integers(flat.size))] = rng.choice([-1, 2**40])
        array = flat if rng.random() < 0.3 else flat.reshape(array.shape)
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def damaged_table(data: bytes, rng: np.random.Generator) -> bytes:
    """A null or a strange number in a column, another type, or a column, rows or all of them missing."""
    table = pq.read_table(io.BytesIO(data))
    at = int(rng.integers(table.num_columns))
    name, values = table.column_names[at], table.column(at).to_pylist()
    how = int(rng.integers(5))
    if how == 0:
        table = table.drop_columns([name])
    elif how == 1:
        table = table.slice(0, int(rng.integers(table.num_rows + 1)))
    elif how == 2:
        table = table.set_column(at, name, pa.array([str(value) for value in values]))
    else:
        place = int(rng.integers(len(values)))
        strange: Any = rng.choice([np.nan, -1.0, 1e300])
        if isinstance(values[place], list):
            values[place] = None if how == 3 else [strange if isinstance(v, float) else None for v in values[place]]
        else:
            values[place] = None if how == 3 or not isinstance(values[place], float) else strange
        table = table.set_column(at, name, pa.array(values, table.schema.field(at).type))
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


BY_KIND = {".json": damaged_json, ".npy": damaged_array, ".parquet": damaged_table}


def damage(path: Path, rng: np.random.Generator) -> str:
    """Damage one file and make the manifest agree; returns its name."""
    manifest_file = path / ("corpus.json" if (path / "corpus.json").exists() else "manifest.json")
    manifest = json.loads(manifest_file.read_text())
    names = [*sorted(manifest["files"]), manifest_file.name]
    name = names[int(rng.integers(len(names)))]
    data = (path / name).read_bytes()
    kind = next((make for ending, make in BY_KIND.items() if name.endswith(ending)), damaged_bytes)
    content = (damaged_bytes if rng.random() < 0.3 else kind)(data, rng)
    (path / name).write_bytes(content)
    if name == manifest_file.name:
        return name
    entry = manifest["files"][name]
    entry["bytes"] = len(content)
    if "sha256" in entry:
        entry["sha256"] = hashlib.sha256(content).hexdigest()
    else:
        length = int.from_bytes(content[-8:-4], "little") if len(content) > 12 else 0
        entry["footer_sha256"] = hashlib.sha256(content[-8 - length :]).hexdigest()
    manifest_file.write_text(json.dumps(manifest))
    return name


@pytest.mark.parametrize("what", list(READERS))
def test_only_our_errors_come_out_of_damaged_files(spark: Any, originals: Path, tmp_path: Path, what: str) -> None:
    READERS[what](spark, str(originals / what))
    end, seed, outcomes = time.monotonic() + SECONDS, FIRST, {"read": 0, "refused": 0}
    while time.monotonic() < end:
        path = tmp_path / what
        shutil.copytree(originals / what, path)
        name = damage(path, np.random.default_rng(seed))
        try:
            READERS[what](spark, str(path))
            outcomes["read"] += 1
        except SpectralError:
            outcomes["refused"] += 1
        except Exception as error:
            raise AssertionError(f"SPECTRAL_FUZZ_SEED={seed}, '{name}': {type(error).__name__}: {error}") from error
        shutil.rmtree(path)
        seed += 1
    print(f"{what}: seeds {FIRST} to {seed}: {outcomes}")
    assert outcomes["refused"] > 0

"""What a model remembers of its documents, on disk: their hashes, and the sample of word counts."""

import numpy as np
import pyarrow as pa

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.errors import FormatError
from spectral_spark.files.directories import SavedDirectory, Staging
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.moments.known_documents import KnownDocuments

_KNOWN, _SAMPLE = "known/", "sample/"
_ARRAYS = ("starts", "terms", "counts", "nodes", "keys")


def write_remembered(staging: Staging, known: KnownDocuments | None, sample: KeptSample | None) -> None:
    """Write what there is, below ``known/`` and ``sample/``."""
    if known is not None:
        staging.write_array(f"{_KNOWN}keys", known.keys)
        staging.write_array(f"{_KNOWN}contents", known.contents)
    if sample is None:
        return
    documents = sample.documents
    arrays = (documents.indptr, documents.terms, documents.counts, documents.nodes, documents.keys)
    for name, array in zip(_ARRAYS, arrays, strict=True):
        staging.write_array(f"{_SAMPLE}{name}", array if name == "keys" else _narrow(array))
    staging.write_table(f"{_SAMPLE}paths", pa.table({
        "path": pa.array([list(path) for path in sample.paths], pa.list_(pa.string())),
    }))
    staging.write_json(f"{_SAMPLE}sample.json", {
        "rate": sample.rate, "most_words": sample.most_words, "vocab_size": documents.vocab_size,
    })


def read_remembered(saved: SavedDirectory) -> tuple[KnownDocuments | None, KeptSample | None]:
    """Read what :func:`write_remembered` wrote; parts that do not fit together are refused."""
    known = sample = None
    if saved.has(f"{_KNOWN}keys.npy"):
        keys, contents = saved.read_array(f"{_KNOWN}keys"), saved.read_array(f"{_KNOWN}contents")
        if keys.dtype != np.int64 or contents.dtype != np.uint32 or keys.ndim != 1 or keys.shape != contents.shape:
            raise FormatError(f"'{saved.path}/{_KNOWN}' is damaged: it does not hold two hashes per document")
        known = KnownDocuments(keys, contents)
    if saved.has(f"{_SAMPLE}sample.json"):
        sample = _read_sample(saved)
    return known, sample


def _read_sample(saved: SavedDirectory) -> KeptSample:
    about = saved.read_json(f"{_SAMPLE}sample.json")
    starts, terms, counts, nodes, keys = (saved.read_array(f"{_SAMPLE}{name}") for name in _ARRAYS)
    paths = tuple(tuple(path or ()) for path in saved.read_table(f"{_SAMPLE}paths")["path"].to_pylist())
    numbers = isinstance(about, dict) and all(isinstance(about.get(name), int) for name in ("most_words", "vocab_size"))
    if not numbers or not isinstance(about.get("rate"), float) or not 0 < about["rate"] <= 1:
        raise FormatError(f"'{saved.path}/{_SAMPLE}sample.json' is damaged: it needs rate, most_words and vocab_size")
    whole = all(array.ndim == 1 and array.dtype.kind in "iu" for array in (starts, terms, counts, nodes, keys))
    if not whole or not _consistent(starts, terms, counts, nodes, keys, len(paths), about["vocab_size"]):
        raise FormatError(f"'{saved.path}/{_SAMPLE}' is damaged: its arrays do not fit together")
    documents = CountBatch(
        starts.astype(np.int64), terms.astype(np.int32), counts.astype(np.float64), nodes.astype(np.int32),
        keys.astype(np.int64), about["vocab_size"],
    )
    return KeptSample(documents, paths, about["rate"], about["most_words"])


def _consistent(
    starts: np.ndarray, terms: np.ndarray, counts: np.ndarray, nodes: np.ndarray, keys: np.ndarray, paths: int,
    vocab_size: int,
) -> bool:
    if not len(starts) or len(nodes) != len(starts) - 1 or len(keys) != len(nodes) or len(terms) != len(counts):
        return False
    ordered = starts[0] == 0 and starts[-1] == len(terms) and bool(np.all(np.diff(starts.astype(np.int64)) >= 0))
    return ordered and _within(terms, vocab_size) and _within(nodes, paths) and (not len(counts) or counts.min() > 0)


def _within(values: np.ndarray, limit: int) -> bool:
    return not len(values) or (int(values.min()) >= 0 and int(values.max()) < limit)


def _narrow(values: np.ndarray) -> np.ndarray:
    """Whole numbers in as few bytes as hold the largest."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))

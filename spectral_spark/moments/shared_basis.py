"""A basis with its words, for sites that fit apart and add their moments later."""

import os

import pyarrow as pa

from spectral_spark.errors import FormatError
from spectral_spark.files.directories import new_directory, open_directory
from spectral_spark.moments.basis import BASIS_KIND, BASIS_VERSION, Basis


def save_shared_basis(
    basis: Basis, words: tuple[str, ...], path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write the basis and its d words, in the order of their ids."""
    with new_directory(path, BASIS_KIND, BASIS_VERSION, overwrite=overwrite) as staging:
        basis.write_into(staging)
        staging.write_table("vocabulary", pa.table({
            "term_id": pa.array(range(len(words)), pa.int32()), "term": pa.array(words, pa.string()),
        }))


def load_shared_basis(path: str | os.PathLike[str]) -> tuple[Basis, tuple[str, ...]]:
    """The basis and its words."""
    saved = open_directory(path, BASIS_KIND, BASIS_VERSION)
    if not saved.has("vocabulary/part-0.parquet"):
        raise FormatError(f"basis '{path}' was saved without its words; make it with 'spectral-spark basis'")
    basis, words = Basis.read_from(saved), tuple(saved.read_table("vocabulary")["term"].to_pylist())
    if len(words) != basis.vocab_size:
        raise FormatError(f"basis '{path}' has {basis.vocab_size} rows and {len(words)} words; it is damaged")
    return basis, words

"""The words of a model or of a corpus, in their order, read without Spark."""

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.directories import resolve


def known_words(path: str) -> tuple[str, ...]:
    """The vocabulary of the model or corpus at ``path``; position is the word's id there."""
    filesystem, inside = resolve(path)
    if filesystem.get_file_info(inside).type == fs.FileType.NotFound:
        raise InputError(f"vocabulary: there is nothing at '{path}'; give a model or a corpus")
    if filesystem.get_file_info(f"{inside}/vocabulary").type != fs.FileType.Directory:
        raise InputError(f"vocabulary: '{path}' has no vocabulary/; give a model fitted with words, or a corpus")
    try:
        table = pq.read_table(f"{inside}/vocabulary", filesystem=filesystem, columns=["term_id", "term"])
    except (OSError, pa.ArrowException, KeyError) as error:
        raise FormatError(f"vocabulary of '{path}' is damaged ({error})") from None
    table = table.sort_by("term_id")
    words = tuple(table["term"].to_pylist())
    if not words or None in words or len(set(words)) < len(words):
        raise FormatError(f"vocabulary of '{path}' is damaged: it is empty, or a word is missing or there twice")
    return words

"""``spectral-spark ingest``: documents come in."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import input_is_there, output_is_free
from spectral_spark.cli.flags import Flag, names, seed_number, share, text_or_number, whole_number
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.ingest.ingest_settings import MISSING_PATH, SOURCES, TABLE_FORMATS, IngestSettings
from spectral_spark.ingest.saved_vocabulary import known_words

if TYPE_CHECKING:
    from spectral_spark.cli.run import Run

FLAGS = (
    Flag("source", "how to read the input", choices=SOURCES, required=True),
    Flag("input", "file or directory to read", metavar="PATH", required=True),
    Flag("output", "directory of the corpus to make", metavar="CORPUS", required=True),
    Flag("vocab-size", "keep at most so many words (default 10000)", whole_number(1), "N"),
    Flag("min-documents", "drop words in fewer training documents (default 10)", whole_number(1), "N"),
    Flag("max-document-share", "drop words in a larger share of the training documents (default 0.5 for text)", share,
         "SHARE"),
    Flag("vocabulary", "use the words of this model or corpus, so that an update with it is exact; the other limits on "
         "words then drop none", metavar="PATH"),
    Flag("holdout", "set so many documents aside for testing, in all or of every group: 1000 or 100/group",
         read=text_or_number,
         metavar="N|N/group"),
    Flag("seed", "decides which documents are held out (default 0)", seed_number, "N"),
    Flag("text-col", "table: column with the text", metavar="COLUMN"),
    Flag("tokens-col", "table: column with the words as an array, instead of text", metavar="COLUMN"),
    Flag("path-cols", "table: columns of the document tree, from the top down", names, "A,B,…"),
    Flag("id-col", "table: column that names a document", metavar="COLUMN"),
    Flag("format", "table: file format, if the name does not tell", choices=TABLE_FORMATS),
    Flag("missing-path", "documents with a null in their path (default drop, and count)", choices=MISSING_PATH),
    Flag("stop-words", "english (default), none, or a file with one word per line", metavar="WHICH"),
    Flag("min-word-length", "drop shorter words (default 3)", whole_number(1), "N"),
    Flag("min-tokens", "drop documents with fewer words (default 3)", whole_number(1), "N"),
    Flag("drop-duplicates", "drop all but one of the documents with the same text (mail: always)", switch=True),
    Flag("max-document-bytes", "drop and count larger mails and files (default 10 MiB)", whole_number(1), "N"),
    Flag("max-input-bytes", "refuse an archive that unpacks to more (default 1 TiB)", whole_number(1), "N"),
    OVERWRITE,
)


def settings_of(settings: Namespace) -> IngestSettings:
    """The library's settings; what was not given keeps its default there."""
    values = {flag.attribute: getattr(settings, flag.attribute) for flag in FLAGS}
    return IngestSettings(**{name: value for name, value in values.items() if value is not None and value is not False})


def plan(settings: Namespace) -> list[str]:
    wanted = settings_of(settings)
    input_is_there(wanted.input)
    output_is_free(wanted.output, wanted.overwrite)
    held_out = f"{wanted.split} documents held out" if wanted.split else "no documents held out"
    return [
        f"read '{wanted.input}' as {wanted.source}",
        f"{_words(wanted)}; {held_out}",
        f"write the corpus to '{wanted.output}'",
        "memory: documents stream through the workers; the driver holds the vocabulary only",
    ]


def _words(wanted: IngestSettings) -> str:
    if wanted.vocabulary is not None:
        return (f"use the {number(len(known_words(wanted.vocabulary)))} words of '{wanted.vocabulary}'; "
                "--vocab-size, --min-documents and --max-document-share drop none of them")
    return (f"keep at most {number(wanted.vocab_size)} words that are in at least {wanted.min_documents} documents and "
            f"in at most {wanted.document_share:.0%} of them")


def run(run: "Run", settings: Namespace) -> None:
    from spectral_spark.files.locking import only_writer
    from spectral_spark.ingest.pipeline import ingest

    with only_writer(settings.output):
        manifest = ingest(run.spark, settings_of(settings), progress=run.terminal.progress)
    run.terminal.say(*ending(manifest, settings.output, run.seconds))


def ending(manifest: dict[str, Any], output: str, seconds: float) -> list[str]:
    """What an ingest tells at its end."""
    dropped = [f"{number(count)} {reason.replace('_', ' ')}" for reason, count in manifest["dropped"].items() if count]
    test = manifest["documents"].get("test", 0)
    lines = [
        f"corpus {output}: {number(manifest['kept'])} of {number(manifest['read'])} documents, "
        f"{number(manifest['tokens'])} words, {number(manifest['terms'])} distinct, in {duration(seconds)}",
        f"  dropped: {', '.join(dropped) or 'none'}; held out for testing: {number(test)}",
    ]
    if unseen := manifest.get("unseen"):
        lines.append(
            f"  not in the given vocabulary: {number(unseen['words'])} words, {number(unseen['tokens'])} times "
            f"({unseen['share']:.1%} of all; {unseen['recurring_share']:.1%} in words that recur)"
        )
    return lines


VERB = Verb(
    name="ingest",
    summary="turn mail, reviews, folders or tables into a corpus",
    description=(
        "Read documents, cut them into words, choose the vocabulary, and write a corpus: one row of word counts per\n"
        "document with its place in the document tree. What is dropped is counted and said, by reason.\n\n"
        "sources:\n"
        "  enron    the public tar.gz or an unpacked maildir; tree: internal/external sender, mailbox owner\n"
        "  amazon   sorted_data_acl or processed_acl; tree: domain, polarity\n"
        "  folders  any directory of text files; the folders are the tree\n"
        "  uci      docword/vocab bag of words, plain or gzipped\n"
        "  table    Parquet, JSON lines or CSV with a text or a token column, and path columns"
    ),
    example="spectral-spark ingest --source folders --input notes --output out/corpus --holdout 100/group",
    flags=FLAGS,
    plan=plan,
    run=run,
)

"""``spectral-spark ingest``: documents come in."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import input_is_there, output_is_free
from spectral_spark.cli.flags import setting_flags
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.data.settings import INGEST
from spectral_spark.files.formats import CORPUS_KIND
from spectral_spark.ingest.boilerplate_file import check_boilerplate_file
from spectral_spark.ingest.counted_files import MOST_ROWS
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.saved_vocabulary import known_words
from spectral_spark.ingest.table_names import table_in_catalog
from spectral_spark.ingest.table_schema import check_table
from spectral_spark.ingest.words_setup import ingest_recipe
from spectral_spark.text.languages import LANGUAGES

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun

FLAGS = (*setting_flags(INGEST), OVERWRITE)


def settings_of(settings: Namespace) -> IngestSettings:
    """The library's settings; what was not given keeps its default there."""
    values = {flag.attribute: getattr(settings, flag.attribute) for flag in FLAGS}
    return IngestSettings(**{name: value for name, value in values.items() if value is not None and value is not False})


def plan(settings: Namespace) -> list[str]:
    wanted = settings_of(settings)
    if not (wanted.source == "table" and table_in_catalog(wanted.input, wanted.format)):
        input_is_there(wanted.input)
    output_is_free(
        wanted.output, wanted.overwrite, kind=CORPUS_KIND,
        inputs={"--input": wanted.input, "--vocabulary": wanted.vocabulary},
    )
    check_boilerplate_file(wanted)
    if wanted.source == "table":
        check_table(wanted)
    held_out = f"{wanted.split} documents held out" if wanted.split else "no documents held out"
    return [
        f"read '{wanted.input}' as {wanted.source}",
        f"{_words(wanted)}; {held_out}",
        *_about_text(wanted),
        f"write the corpus to '{wanted.output}'",
        "memory: documents stream through the workers; the driver holds the vocabulary and, of up to "
        f"{number(MOST_ROWS)} documents, ids and keys",
    ]


def _about_text(wanted: IngestSettings) -> list[str]:
    """What is done to the words, and what is carried along, where that was asked for."""
    lines = []
    recipe = None if wanted.ready_made else ingest_recipe(wanted)
    if wanted.phrases is not None:
        limit = "all" if wanted.phrase_limit is None else f"at most {number(wanted.phrase_limit)}"
        lines.append(f"join {limit} phrases that pass a test, in one more pass over the counted documents")
    if recipe is not None and not recipe.plain:
        named = [*(LANGUAGES[code] for code in recipe.languages), *(["lemmas"] if recipe.lemmas else []),
                 *([f"tokeniser {recipe.tokeniser_name}"] if recipe.tokeniser_name else []),
                 *([f"{number(len(recipe.phrases))} phrases"] if recipe.phrases else []),
                 *([f"{number(len(recipe.dropped_lines))} lines left out"] if recipe.dropped_lines else [])]
        lines.append(f"words: {', '.join(named)}")
    if wanted.find_boilerplate:
        lines.append(f"write lines of at least {number(wanted.boilerplate_documents)} documents to "
                     f"'{wanted.find_boilerplate}'")
    if wanted.keep_cols:
        lines.append(f"carry {', '.join(wanted.keep_cols)} into the corpus")
    return lines


def _words(wanted: IngestSettings) -> str:
    if wanted.vocabulary is not None:
        return (f"use the {number(len(known_words(wanted.vocabulary)))} words of '{wanted.vocabulary}'; "
                "--vocab-size, --min-documents and --max-document-share drop none of them")
    return (f"keep at most {number(wanted.vocab_size)} words that are in at least {wanted.min_documents} documents and "
            f"in at most {wanted.document_share:.0%} of them")


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.files.locking import only_writer
    from spectral_spark.ingest.pipeline import ingest

    spark = run.spark
    with only_writer(settings.output), run.terminal.following("reading documents") as tell:
        manifest = ingest(spark, settings_of(settings), progress=tell)
    run.terminal.say(*summary_lines(manifest, settings.output, run.seconds))


def summary_lines(manifest: dict[str, Any], output: str, seconds: float) -> list[str]:
    """What an ingest tells at its end."""
    dropped = [f"{number(count)} {reason.replace('_', ' ')}" for reason, count in manifest["dropped"].items() if count]
    return [
        f"corpus {output}: {number(manifest['kept'])} of {number(manifest['read'])} documents, "
        f"{number(manifest['tokens'])} words, {number(manifest['terms'])} distinct, in {duration(seconds)}",
        f"  documents dropped: {', '.join(dropped) or 'none'}; held out for testing: {_held_out(manifest)}",
        *_about_phrases(manifest),
        *_about_words(manifest),
        *_about_unseen(manifest.get("unseen")),
    ]


def _held_out(manifest: dict[str, Any]) -> str:
    test, asked = manifest["documents"].get("test", 0), manifest["settings"]["holdout"]
    if asked is None or asked.endswith("/group") or test >= int(asked):
        return number(test)
    half = 2 * test >= manifest["kept"] - 1
    why = "at most half of the documents is held out" if half else "the others are too short"
    return f"{number(test)} instead of {number(int(asked))}, because {why}"


def _about_phrases(manifest: dict[str, Any]) -> list[str]:
    phrases = (manifest.get("text") or {}).get("phrases") or []
    carried = manifest.get("kept_columns")
    return [*([f"  {number(len(phrases))} phrases joined"] if phrases else []),
            *([f"  columns carried along: {', '.join(carried)}"] if carried else [])]


def _about_words(manifest: dict[str, Any]) -> list[str]:
    """How many words there were, and which frequent ones the limits cut."""
    words, settings = manifest.get("words"), manifest["settings"]
    if not words:
        return []
    share = f"{settings['max_document_share']:.0%}"
    cut = [
        f"{number(words[name])} {why}" for name, why in (
            ("too_rare", f"in fewer than {settings['min_documents']} documents"),
            ("too_frequent", f"in more than {share} of the documents"),
            ("beyond_vocab_size", f"beyond the {number(settings['vocab_size'])} of --vocab-size"),
        ) if words[name]
    ]
    lines = [f"  {number(words['distinct'])} distinct words in the training documents; cut: {', '.join(cut) or 'none'}"]
    if frequent := words["most_frequent_cut"]:
        named = ", ".join(f"{entry['word']} ({entry['document_share']:.0%})" for entry in frequent)
        more = words["too_frequent"] - len(frequent)
        lines.append(f"  most frequent words cut (share of documents): {named}"
                     f"{f' and {number(more)} more' if more else ''}; --max-document-share 1 keeps them")
    return lines


def _about_unseen(unseen: dict[str, Any] | None) -> list[str]:
    """What a given vocabulary lacks; words that it leaves out on purpose are counted apart."""
    if not unseen:
        return []
    others = unseen["words"] - unseen["cut_words"]
    tokens, share = unseen["tokens"] - unseen["cut_tokens"], unseen["share"] - unseen["cut_share"]
    lines = [f"  not in the given vocabulary: {number(others)} distinct words, {share:.1%} of all words "
             f"({number(tokens)}); words that recur: {unseen['recurring_share']:.1%} of all"]
    if unseen["cut_words"]:
        lines.append("  left out of that vocabulary on purpose, as too frequent: "
                     f"{number(unseen['cut_words'])} distinct words, {unseen['cut_share']:.1%} of all words "
                     f"({number(unseen['cut_tokens'])})")
    return lines


VERB = Verb(
    name="ingest",
    summary="turn mail, reviews, folders or tables into a corpus",
    description=(
        "Read documents, split them into words, choose the vocabulary and write a corpus: one row of word counts per\n"
        "document, with its place in the document tree. Documents that cannot be used never stop the run: they are\n"
        "dropped, counted and reported by reason, and so are the words that the limits cut.\n\n"
        "sources:\n"
        "  enron    the public tar.gz or an unpacked maildir; tree: internal/external sender, mailbox owner\n"
        "  amazon   sorted_data_acl or processed_acl; tree: domain, polarity\n"
        "  folders  any directory of text files; the folders are the tree\n"
        "  uci      docword/vocab bag of words, plain or gzipped\n"
        "  table    Parquet, JSON lines, CSV, Delta, Iceberg or a table of Spark's catalogue, with a text or a token\n"
        "           column, and path columns"
    ),
    example="spectral-spark ingest --source folders --input notes --output out/corpus --holdout 100/group",
    flags=FLAGS,
    plan=plan,
    run=run,
)

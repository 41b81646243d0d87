"""``spectral-spark infer``: the topics of a text, and the words that speak for them. Needs no Spark."""

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spectral_spark.cli.checks import file_is_there, model_summary
from spectral_spark.cli.flags import Flag, whole_number
from spectral_spark.cli.terminal import printable
from spectral_spark.cli.verb import Verb
from spectral_spark.data.value_types import nearest
from spectral_spark.errors import InputError, SettingsError

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun
    from spectral_spark.serve.explanation import Explanation
    from spectral_spark.serve.topic_model import TopicModel

FORMATS = ("table", "json")
TOPICS = 3
WORDS = 6
STANDARD_INPUT = "-"
FEW_TEXTS = 500           # up to so many, NumPy answers before numba is compiled


def plan(settings: Namespace) -> list[str]:
    if settings.text is not None and settings.input is not None:
        raise SettingsError("give either a text or --input, not both")
    summary = model_summary(settings.model)
    if settings.input not in (None, STANDARD_INPUT):
        file_is_there(settings.input)
    what = "one text" if settings.text is not None else f"every line of {_name(settings.input)}"
    return [
        f"infer the topics of {what} with the {summary['k']} topics of '{settings.model}'",
        "memory: the model's topics; no Spark",
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.serve.topic_model import TopicModel

    if settings.text is None and settings.input in (None, STANDARD_INPUT) and sys.stdin and sys.stdin.isatty():
        run.terminal.line.keep("reading texts from the keyboard, one per line; end with Ctrl-D on a line of its own")
    texts = [settings.text] if settings.text is not None else read_lines(settings.input)
    backend = "numpy" if len(texts) <= FEW_TEXTS else "auto"
    model = TopicModel.load(settings.model, tokeniser=_tokeniser(settings), backend=backend)
    if model.vocabulary is not None and not model.reads_text:
        raise SettingsError(f"'{settings.model}' was fitted to word counts and does not say how text becomes words; "
                            "add --stop-words english to split it as 'ingest' does, or --tokeniser")
    path = settings.path.strip("/").split("/") if settings.path else None
    if path and (remark := _unknown_node(path, model.nodes.paths)):
        run.terminal.line.keep(remark)
    found = _explained(model, texts, path)
    if not any(explanation.known for explanation in found):
        which = "the text" if len(texts) == 1 else f"the {len(texts):,} texts"
        raise InputError(f"no word of {which} is among the {model.vocab_size:,} words of the model; is it the right "
                         f"model? 'spectral-spark topics {settings.model}' lists its words")
    write = json_lines if settings.format == "json" else table_lines
    run.terminal.print(*write(model, found, settings.topics or TOPICS))


def read_lines(name: str | None) -> list[str]:
    """One text per line of a file or of standard input; empty lines are passed over."""
    if name in (None, STANDARD_INPUT):
        if sys.stdin is None:
            raise InputError("standard input is closed; give a text, or a file with --input")
        data = sys.stdin.buffer.read()
    else:
        from spectral_spark.files.directories import resolve

        filesystem, inside = resolve(str(name))
        with filesystem.open_input_stream(inside) as source:
            data = source.read()
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{_name(name)} is not text in UTF-8; convert it first") from None
    texts = [line for line in lines if line.strip()]
    if not texts:
        raise InputError(f"{_name(name)} is empty; give one text per line, or the text itself: spectral-spark infer "
                         "--model MODEL \"one text\"")
    return texts


def _unknown_node(path: list[str], paths: Sequence[tuple[str, ...]]) -> str | None:
    """What to say about a path that the tree does not have; its texts are scored as those of the nearest node above."""
    known = set(paths)
    if tuple(path) in known:
        return None
    above = next(path[:depth] for depth in range(len(path) - 1, -1, -1) if tuple(path[:depth]) in known)
    name, place = "/".join(path), f"'{'/'.join(above)}'" if above else "the whole corpus"
    hint = nearest(name, map("/".join, paths)) or "."
    return f"the document tree has no node '{name}'{hint} The texts are scored as those of {place}."


def _explained(model: "TopicModel", texts: list[str], path: list[str] | None) -> list["Explanation"]:
    shares = model.infer(texts, [path] * len(texts))
    return [model.explain(text, shares=row) for text, row in zip(texts, shares, strict=True)]


def table_lines(model: "TopicModel", found: list["Explanation"], topics: int) -> list[str]:
    """For people: the largest topics of each text, and the words of the text that speak for them."""
    labels = [printable(model.files.labels.get(topic, " ".join(words)))
              for topic, words in enumerate(model.first_words(3))]
    width = max(len("its name or first words"), *map(len, labels))
    lines: list[str] = []
    for number, explanation in enumerate(found, 1):
        if len(found) > 1:
            lines += [f"text {number}"]
        if not explanation.known:
            lines.append("  no word of this text is known to the model")
            continue
        lines.append(f"topic  share  {'its name or first words':<{width}}  words of the text that speak for it")
        for topic in explanation.topics[:topics]:
            words = ", ".join(_counted(word, times) for word, times in topic.words[:WORDS])
            lines.append(f"{topic.topic:>5}  {topic.share:>5.1%}  {labels[topic.topic]:<{width}}  {words or '(none)'}")
        if explanation.unknown:
            shown = ", ".join(explanation.unknown[:WORDS])
            more = len(explanation.unknown) - WORDS
            lines.append(f"words that the model does not know: {shown}{f' and {more} more' if more > 0 else ''}")
    return lines


def _counted(word: str, times: float) -> str:
    """A word, with its share of occurrences where not exactly one of them speaks for the topic."""
    return word if 0.95 <= times < 1.05 else f"{word} ({times:.1f})"


def json_lines(model: "TopicModel", found: list["Explanation"], topics: int) -> list[str]:
    """One JSON object per text, each on its line: proportions of all topics, the largest ones explained."""
    lines = []
    for explanation in found:
        shares = {topic.topic: topic.share for topic in explanation.topics}
        row: dict[str, Any] = {"proportions": [shares[topic] for topic in range(model.k)]}
        row |= explanation.as_dict(topics)
        text = json.dumps(row, ensure_ascii=False, allow_nan=False)
        lines.append(text if printable(text) == text else json.dumps(row, allow_nan=False))
    return lines


def _tokeniser(settings: Namespace) -> Any:
    """For a model that does not remember how its words were made: our tokeniser with the given stop words."""
    if settings.tokeniser:
        from spectral_spark.text.language_tokeniser import load_tokeniser

        return load_tokeniser(settings.tokeniser)
    if not settings.stop_words:
        return None
    from spectral_spark.text.tokeniser import Tokeniser, load_stop_words

    counts = Tokeniser(load_stop_words(settings.stop_words)).counts
    return lambda text: [word for word, times in counts(text).items() for _ in range(times)]


def _name(name: str | None) -> str:
    return "standard input" if name in (None, STANDARD_INPUT) else f"'{name}'"


VERB = Verb(
    name="infer",
    summary="the topics of a text, and the words that speak for them",
    description=(
        "Infer the topics of one text, or of every line of a file or of standard input, and name the words that speak\n"
        "for each topic. Text is read as it was read for the fit. No Spark is started: an answer takes about half\n"
        "a second of processor time. For many documents, in Spark, see 'spectral-spark score'."
    ),
    example='spectral-spark infer --model out/model "the wind took the boat out of the harbour"',
    flags=(
        Flag("model", "a fitted model", metavar="MODEL", required=True),
        Flag("text", "the text; may be given without the flag's name", metavar="TEXT"),
        Flag("input", "a file with one text per line; - is standard input, which is also read where neither a text nor "
             "a file is given", metavar="FILE"),
        Flag("path", "where the texts belong in the document tree, from the top-level group down: REGION/TOWN; by "
             "default the root", metavar="PATH"),
        Flag("format", "table (default) or json, one object per line", choices=FORMATS),
        Flag("topics", f"topics of each text to explain, the largest first (default {TOPICS})", whole_number(1), "N"),
        Flag("tokeniser", "package.module:function, for a model whose words were made by a function of your own",
             metavar="MODULE:FUNCTION"),
        Flag("stop-words", "english, none, or a file; only for a model that does not remember how its words were made",
             metavar="LIST"),
    ),
    plan=plan,
    run=run,
    positional="text",
)

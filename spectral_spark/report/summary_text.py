"""The model in words: questions a reader asks, and their answers from the numbers that are there."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from spectral_spark.files.model_files import TopicModelFiles
from spectral_spark.plain_text import duration


class Answer(NamedTuple):
    """One question at the top of the page, a figure to remember and sentences around it."""

    question: str
    figure: str
    text: str


def answers(files: TopicModelFiles, evaluation: Mapping[str, Any] | None) -> list[Answer]:
    """The top of the page, in reading order."""
    return [
        _what(files),
        _how_many(files),
        _how_good(evaluation),
        _how_long(files.summary),
        *_warned(files.summary),
        _left_out(files),
    ]


def warnings_of(summary: Mapping[str, Any]) -> list[str]:
    """What the fit warned of."""
    extra = summary.get("extra")
    given = extra.get("warnings") if isinstance(extra, Mapping) else None
    return [text.strip() for text in given if isinstance(text, str) and text.strip()] if isinstance(given, list) else []


def corpus_facts(files: TopicModelFiles) -> Mapping[str, Any]:
    """What the run report tells about the corpus (``corpus``, there or under ``extra``): name, read, dropped."""
    extra = files.summary.get("extra")
    for source in (files.summary, extra if isinstance(extra, Mapping) else {}):
        value = source.get("corpus")
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, Mapping):
            return value
    return {}


def corpus_name(files: TopicModelFiles) -> str | None:
    """What the run report calls the corpus, when it says; "corpus" is no name."""
    facts = corpus_facts(files)
    for value in (facts.get("title"), facts.get("name"), facts.get("source"), facts.get("path")):
        if isinstance(value, str) and value.strip() not in ("", "corpus"):
            return value.rstrip("/").rsplit("/", 1)[-1] or value
    return None


def fit_settings(files: TopicModelFiles) -> Mapping[str, Any]:
    """The parameters of the fit, from the run report or from the metadata in the layout of ``pyspark.ml``."""
    stated = files.summary.get("settings")
    if isinstance(stated, Mapping) and stated:
        return stated
    layers = [files.metadata.get(section) for section in ("defaultParamMap", "paramMap")]
    if any(isinstance(layer, Mapping) for layer in layers):
        return {name: value for layer in layers if isinstance(layer, Mapping) for name, value in layer.items()}
    return files.metadata


def count_text(value: Any) -> str:
    """1234567 → '1.23 million', 12345 → '12,345'."""
    number = _number(value)
    if number is None:
        return "an unknown number of"
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number:,.0f}"


def total_seconds(summary: Mapping[str, Any]) -> float | None:
    """How long the fit took: the stated total, or the sum of what is stated."""
    seconds = summary.get("seconds")
    if not isinstance(seconds, Mapping):
        return _number(seconds)
    if _number(seconds.get("total")) is not None:
        return _number(seconds.get("total"))
    parts = [number for number in map(_number, seconds.values()) if number is not None]
    return sum(parts) if parts else None


def _what(files: TopicModelFiles) -> Answer:
    summary, nodes = files.summary, files.nodes
    documents = summary.get("documents", int(nodes.documents[0]) if len(nodes.documents) else None)
    different = _plural(files.topics.shape[0], "different one")
    if _number(summary.get("tokens")) is not None:
        text = f"They hold {_plural(summary['tokens'], 'word')}, {different}"
    else:
        text = f"The model knows {_plural(files.topics.shape[0], 'word')} of theirs"
    groups, depth = len(nodes.paths) - 1, max(nodes.levels, default=0)
    if groups > 0:
        text += f", in {_plural(groups, 'group')} on {'one level' if depth == 1 else f'{depth} levels'}."
    else:
        text += ". They are not divided into groups."
    return Answer("What is in here?", _plural(documents, "document"), text)


def _how_many(files: TopicModelFiles) -> Answer:
    k = files.topics.shape[1]
    reason, asked = files.summary.get("rank_reason"), fit_settings(files).get("k")
    because = f" ({reason.strip().rstrip('.')})" if isinstance(reason, str) and reason.strip() else ""
    if asked is not None and str(asked) != "auto":
        text = "That many were asked for." if _number(asked) in (None, k) else (
            f"{asked} were asked for; those that ended up with next to no words were given up.")
        text += _standing_out(files.summary)
    elif because or _number(files.summary.get("noise_floor")) is not None:
        text = f"Chosen from the data: as many patterns as stand out from chance{because}."
    else:
        text = "The run report does not say why that many."
    about = "A topic is a set of words that tend to be used together." if k > 1 else (
        "With a single topic, the model is the plain word frequencies of the corpus.")
    return Answer("How many topics, and why?", f"{k} topic" + ("s" if k != 1 else ""), f"{text} {about}")


def _standing_out(summary: Mapping[str, Any]) -> str:
    """For a given k: how many directions of the data stand out from noise, where the run report has the noise floor."""
    floor, spectrum = _number(summary.get("noise_floor")), summary.get("spectrum")
    if floor is None or not isinstance(spectrum, list):
        return ""
    above = sum(1 for value in spectrum if (_number(value) or 0.0) > floor)
    return f" {_plural(above, 'pattern')} in the data {'stands' if above == 1 else 'stand'} out from chance."


def _how_good(evaluation: Mapping[str, Any] | None) -> Answer:
    question = "How good is it?"
    loss = _number((evaluation or {}).get("loss"))
    if evaluation is None or loss is None:
        text = "It was not measured on held-out documents: run the verb 'evaluate' and build this page again."
        return Answer(question, "not evaluated", text)
    plain = _number(evaluation.get("unigram_loss"))
    text = ("Shown half of a document it has never seen, the model guesses the other half as if every word were one of "
            f"{math.exp(loss):,.0f} equally likely ones")
    figure = f"{loss:.3f} nats per word"
    if plain is not None:
        fewer = 1.0 - math.exp(loss - plain)
        text += f"; knowing only how common words are, it would be {math.exp(plain):,.0f}. "
        text += f"In numbers: a loss of {loss:.3f} against {plain:.3f} nats per word"
        if fewer > 0:
            figure = f"{fewer:.0%} less to guess"
        else:
            figure, text = "no better than counting words", text + ", so these topics do not help"
    text += _on_tokens(evaluation) + "." + _coherence(evaluation)
    return Answer(question, figure, text)


def _on_tokens(evaluation: Mapping[str, Any]) -> str:
    tokens = _number(evaluation.get("tokens"))
    return f", over {_plural(tokens, 'held-out word')}" if tokens else ""


def _coherence(evaluation: Mapping[str, Any]) -> str:
    text = ""
    npmi, diversity = _number(evaluation.get("npmi")), _number(evaluation.get("diversity"))
    if npmi is not None:
        text += (f" Coherence (NPMI) is {npmi:.3f}: 0 would mean that a topic's top words meet in documents only by "
                 "chance, 1 that they always come together.")
    if diversity is not None:
        text += f" {diversity:.0%} of all top words belong to one topic only."
    return text


def _how_long(summary: Mapping[str, Any]) -> Answer:
    question = "How long did it take?"
    total = total_seconds(summary)
    passes = [item for item in summary.get("passes") or [] if isinstance(item, Mapping)]
    over = f"The fit went over the documents {_times(len(passes))}." if passes else ""
    if total is None:
        return Answer(question, "unknown", f"The run report has no times. {over}".strip())
    about = "Starting Spark and writing the model are not included."
    return Answer(question, duration(total), f"{over} {about}".strip())


def _warned(summary: Mapping[str, Any]) -> list[Answer]:
    """The warnings of the fit, if there are any."""
    said = warnings_of(summary)
    text = " ".join(f"{one[0].upper()}{one[1:].rstrip('.')}." for one in said)
    return [Answer("What did the fit warn of?", _plural(len(said), "warning"), text)] if said else []


def _left_out(files: TopicModelFiles) -> Answer:
    question = "What was left out?"
    reading, fitting = corpus_facts(files).get("dropped"), files.summary.get("dropped")
    if not isinstance(reading, Mapping) and not isinstance(fitting, Mapping):
        return Answer(question, "unknown", "The run report does not say what was dropped.")
    texts, total = [], 0.0
    for when, dropped in (("When the corpus was read", reading), ("By the fit", fitting)):
        parts = [part for part in _counts(dropped if isinstance(dropped, Mapping) else {}) if part[1]]
        total += sum(number for _, number in parts)
        if parts:
            texts.append(f"{when}: " + "; ".join(f"{name} {number:,.0f}" for name, number in parts) + ".")
    held_out = _number(corpus_facts(files).get("held_out"))
    if held_out:
        texts.append(f"{_plural(held_out, 'document')} {'was' if held_out == 1 else 'were'} held out for testing.")
    if not total:
        first = "Every document of the corpus is in the model." if held_out == 0 else "No document was dropped."
        return Answer(question, "only test documents" if held_out else "nothing", " ".join([first, *texts]))
    return Answer(question, _plural(total, "document"), " ".join(texts))


def _counts(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for key, value in values.items():
        name = f"{prefix}{str(key).replace('_', ' ')}"
        if isinstance(value, Mapping):
            found += _counts(value, f"{name}, ")
        elif (number := _number(value)) is not None:
            found.append((name, number))
    return found


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def _plural(value: Any, one: str, many: str | None = None) -> str:
    return f"{count_text(value)} {one if _number(value) == 1 else many or one + 's'}"


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)

"""Seeds: the words that people gave to topics become a prior, and the solved topics that fit them come first.

During a fit the seeded topics are the first columns, in the order of the file; the background topic comes after them.
Finished topics get the numbers that were asked for, and the others follow with the heaviest first.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from spectral_spark.data.seeds import BACKGROUND, Seeds, check_room, number_of_topics
from spectral_spark.data.settings import AUTO
from spectral_spark.data.value_types import LARGEST_WHOLE, nearest
from spectral_spark.errors import InputError
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import FittedTopics, Topics
from spectral_spark.fit.seed_report import seed_report, seed_warnings
from spectral_spark.fit.shared_topics import divide_shared
from spectral_spark.refine.seed_prior import FINAL, HELD_BACK, PULL, SeedPrior

_NAMED = 5                  # unknown words that a message names


def seed_prior(seeds: Seeds | None, words: tuple[str, ...] | None, k: int, run: FitRun | None = None) -> (
    SeedPrior | None
):
    """The prior for a fit of k topics; words that the vocabulary lacks are reported.

    Background words are pulled like seeds, all words alike, with a pull that adds up to the words of an average topic.
    """
    if seeds is None:
        return None
    if words is None:
        raise InputError("`seeds` are words, and this fit does not know the words of its columns; set `vocabulary`")
    check_room(seeds, k)
    place = {word: number for number, word in enumerate(words)}
    seeded = number_of_topics(seeds)
    pull, allowed = np.zeros((len(words), seeded)), np.ones((len(words), seeded))
    for column, topic in enumerate(seeds["topics"]):
        known, unknown = _found(topic["words"], place)
        if not known:
            raise InputError(f"`seeds`: none of the words of topic '{topic['name']}' is in the vocabulary"
                             f"{nearest(unknown[0], words)}")
        pull[list(known), column] = PULL * np.array(list(known.values()))
        out, lost = _found(topic["not"], place)
        if both := sorted(known.keys() & out.keys()):
            raise InputError(f"`seeds`: '{words[both[0]]}' is among both the words of topic '{topic['name']}' and the "
                             "words that must not be in it")
        allowed[list(out), column] = HELD_BACK ** np.minimum(np.array(list(out.values())), 3.0)
        if (unknown or lost) and run is not None:
            asked = len(topic["words"]) + len(topic["not"])
            run.warn(_about_unknown(topic["name"], [*unknown, *lost], asked, words))
    if seeds[BACKGROUND] is not None:
        pull[:, -1] = seeds[BACKGROUND]["strength"] / k
    return SeedPrior(pull, allowed)


def check_seeds(settings: FitSettings, words: tuple[str, ...] | None) -> None:
    """Refuse seeds that cannot be used, before anything is computed."""
    if settings.seeds is not None:
        seed_prior(settings.seeds, words, int(settings.k) if settings.k != AUTO else LARGEST_WHOLE)


def with_room(settings: FitSettings, k: int, run: FitRun) -> FitSettings:
    """The settings, without seeds if k topics have no room for them."""
    try:
        check_room(settings.seeds or {"topics": [], BACKGROUND: None}, k)
    except InputError as error:
        run.warn(f"{error}; these topics are without seeds")
        return replace(settings, seeds=None)
    return settings


def _found(asked: dict[str, float], place: dict[str, int]) -> tuple[dict[int, float], list[str]]:
    """Strengths by the ids of words, and the words that the vocabulary lacks; case is ignored where that helps."""
    known, unknown = {}, []
    for word, strength in asked.items():
        at = place.get(word, place.get(word.lower()))
        if at is None:
            unknown.append(word)
        else:
            known[at] = strength
    return known, unknown


def _about_unknown(name: str, unknown: list[str], all_words: int, words: tuple[str, ...]) -> str:
    shown = ", ".join(f"'{word}'{nearest(word, words).replace('; d', ' (d').replace('?', '?)')}"
                      for word in unknown[:_NAMED])
    more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
    return (f"seeds of '{name}': {len(unknown)} of {all_words} words are not in the vocabulary and were left out: "
            f"{shown}{more}")


def seeded_start(solved: Topics, prior: SeedPrior | None) -> Topics:
    """Solved topics with those that fit the seeds in the first columns, and the prior mixed into them.

    ``SeedPrior.chosen_first`` says which topics fit.
    """
    if prior is None:
        return solved
    ordered = in_order(solved, prior.chosen_first(solved.topics * solved.weights))
    start = divide_shared(ordered, prior)
    joint = start.topics * start.weights
    counts = prior.applied(joint, FINAL)
    return replace(start, topics=counts / counts.sum(axis=0), seeds=prior, evidence=joint[prior.listed])


def in_order(topics: Topics, order: np.ndarray) -> Topics:
    """The topics in another order."""
    return replace(
        topics, topics=np.ascontiguousarray(topics.topics[:, order]), weights=topics.weights[order],
        node_proportions=np.ascontiguousarray(topics.node_proportions[:, order]),
    )


def numbered(topics: Topics, seeds: Seeds | None) -> np.ndarray | None:
    """The order of finished topics; None for the usual one."""
    return None if seeds is None else final_order(topics.weights, seeds)


def reported_seeds(
    topics: Topics, order: np.ndarray | None, seeds: Seeds | None, words: tuple[str, ...] | None, run: FitRun
) -> dict[str, Any]:
    """What the documents say about the seeds, for the run report; what they say against them is a warning."""
    if seeds is None or order is None or words is None:
        return {}
    report = seed_report(topics, order, seeds, words)
    for text in seed_warnings(report, len(order)):
        run.warn(text)
    return report


def seeded_labels(report: dict[str, Any]) -> dict[int, str]:
    """The names of seeded topics, by their numbers."""
    return {entry["topic"]: entry["name"] for entry in report.get("topics", [])}


def seeds_first(topics: Topics, fitted: FittedTopics, settings: FitSettings) -> Topics:
    """Topics in the order of a model, which become those of a fit: the seeded ones first, with their prior."""
    if settings.seeds is None:
        return topics
    first, k = list(seeded_numbers(fitted.summary.seeds)), topics.topics.shape[1]
    prior = seed_prior(settings.seeds, fitted.vocabulary, k)
    if prior is None or len(first) != prior.topics:
        raise InputError("the seeds of this model are not those of its run report; it was changed by something else: "
                         "fit it again")
    order = np.array([*first, *(topic for topic in range(k) if topic not in first)])
    moved = in_order(topics, order)
    return replace(moved, seeds=prior, evidence=(moved.topics * moved.weights)[prior.listed])


def seeded_numbers(report: dict[str, Any]) -> dict[int, int]:
    """The numbers of seeded topics, the background last, with the columns that they have during a fit."""
    numbers = [entry["topic"] for entry in report.get("topics", [])]
    background = report.get(BACKGROUND)
    return {number: column for column, number in enumerate([*numbers, *([] if background is None else [background])])}


def final_order(weights: np.ndarray, seeds: Seeds) -> np.ndarray:
    """The column that gets each number: seeded topics as asked, the background last, the others heaviest first."""
    k, seeded = len(weights), number_of_topics(seeds)
    place = dict(enumerate(_numbers(seeds, k)))
    others = iter(seeded + np.argsort(-weights[seeded:], kind="stable"))
    column_at = {number: column for column, number in place.items()}
    return np.array([column_at[number] if number in column_at else next(others) for number in range(k)])


def _numbers(seeds: Seeds, k: int) -> list[int]:
    """The numbers of the seeded columns: those asked for, in the file's order for the others, the last for the
    background. Where topics died, a number beyond the last one becomes the nearest that is free."""
    asked = [topic["topic"] for topic in seeds["topics"]]
    last = []
    if seeds[BACKGROUND] is not None:
        last = [seeds[BACKGROUND]["topic"] if seeds[BACKGROUND]["topic"] is not None else k - 1]
    taken: set[int] = set()
    numbers: dict[int, int] = {}
    wanted: list[Any] = [*asked, *last]
    for column in sorted(range(len(wanted)), key=lambda column: wanted[column] is None):
        if wanted[column] is None:
            number = next(number for number in range(k) if number not in taken)
        else:
            free = [number for number in range(k) if number not in taken]
            number = min(free, key=lambda number: (abs(number - wanted[column]), number))
        numbers[column] = number
        taken.add(number)
    return [numbers[column] for column in range(len(wanted))]

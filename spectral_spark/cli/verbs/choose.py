"""``spectral-spark choose``: how many topics, and why."""

from argparse import Namespace
from typing import TYPE_CHECKING

from spectral_spark.answers.k_recommendation import STABLE
from spectral_spark.cli.checks import corpus_manifest, memory_line, output_is_free
from spectral_spark.cli.flags import Flag, names, setting_flags, share, whole_number
from spectral_spark.cli.tables import FORMAT, result_lines
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.data.settings import AUTO, HDP
from spectral_spark.errors import SettingsError
from spectral_spark.files.formats import CHOICE_KIND, CHOICE_VERSION
from spectral_spark.fit.fit_settings import SAMPLE_WORDS, FitSettings

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun

SETTINGS = tuple(
    HDP[name] for name in ("weighting", "layers", "concentrations", "exploreSweeps", "refinePasses", "groupBalance",
                           "seed")
)
COLUMNS = ("k", "asked", "loss", "npmi", "exclusivity", "seed_return", "half_return", "seconds", "recommended")


def wanted_numbers(given: tuple[str, ...], terms: int) -> list[int | str]:
    """The numbers of topics that were asked for."""
    found: list[int | str] = []
    for text in given:
        if text != AUTO and not (text.isascii() and text.isdigit() and 2 <= int(text) <= terms):
            raise SettingsError(f"--k has '{text}'; give numbers from 2 to {number(terms)} (the number of words), or "
                                "auto")
        found.append(AUTO if text == AUTO else int(text))
    return found


def fit_settings(settings: Namespace) -> FitSettings:
    """How every model is fitted."""
    given = {setting.attribute: getattr(settings, setting.attribute) for setting in SETTINGS}
    return FitSettings(**{name: value for name, value in given.items() if value is not None})


def plan(settings: Namespace) -> list[str]:
    manifest = corpus_manifest(settings.corpus)
    output_is_free(settings.output, settings.overwrite, kind=CHOICE_KIND, inputs={"--corpus": settings.corpus})
    ks = wanted_numbers(settings.k, manifest["terms"])
    numbers = [k for k in ks if isinstance(k, int)]
    largest: int | str = max(numbers) if numbers else AUTO
    columns = FitSettings(k=largest).basis_columns(manifest["terms"])
    train = manifest["tokens_by_split"]["train"]
    used = min(train, settings.words or SAMPLE_WORDS)
    return [
        f"compare {', '.join(map(str, ks))} topics on {number(used)} of the {number(train)} words of "
        f"'{settings.corpus}': four fits each, from moments that are collected once in a basis of {columns} columns",
        f"write the table, a picture and a page to '{settings.output}'",
        memory_line(manifest["terms"], columns, largest),
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.answers.choose_k import ChoiceInput, choose_k
    from spectral_spark.evaluate.evaluation import CORPUS_COLUMNS
    from spectral_spark.files.directories import new_directory
    from spectral_spark.ingest.corpus_store import open_corpus
    from spectral_spark.report.choice_page import choice_page, choice_svg

    corpus = open_corpus(run.spark, settings.corpus)
    given = ChoiceInput(
        corpus.documents("train"), corpus.documents("test"), CORPUS_COLUMNS, corpus.vocabulary,
        most_words=settings.words or SAMPLE_WORDS,
    )
    choice = choose_k(
        given, fit_settings(settings), wanted_numbers(settings.k, len(corpus.vocabulary)),
        stable=STABLE if settings.stable is None else settings.stable, progress=run.passes,
    )
    rows = choice.rows()
    name = settings.corpus.rstrip("/").rsplit("/", 1)[-1]
    with new_directory(settings.output, CHOICE_KIND, CHOICE_VERSION, overwrite=settings.overwrite) as staging:
        staging.write_json("choice.json", {"recommended": choice.recommended, "reason": choice.reason, "results": rows})
        staging.write_bytes("choice.csv", ("\n".join(result_lines(rows, COLUMNS, "csv")) + "\n").encode())
        staging.write_bytes("choice.svg", choice_svg(choice).encode())
        staging.write_bytes("choice.html", choice_page(choice, name).encode())
    run.terminal.print(*result_lines(rows, COLUMNS, settings.format))
    run.terminal.say(f"{choice.recommended} topics: {choice.reason}",
                     f"choice {settings.output}: table, picture and page, in {duration(run.seconds)}; fit it with "
                     f"spectral-spark fit --k {choice.recommended}")


VERB = Verb(
    name="choose",
    summary="compare numbers of topics and recommend one",
    description=(
        "For every number of topics: the held-out loss, the coherence and exclusivity of the topics, and how many of\n"
        "them come back from another seed and from the other half of the documents. The moments are collected once\n"
        "and give the start of every fit. Recommended is the lowest loss among the numbers at which at least half of\n"
        "the topics come back from another seed; of losses within 0.01, the fewest topics. 'auto' adds the number\n"
        "that the spectrum suggests. Corpora of more than 6 million words are represented by a part of that size."
    ),
    example="spectral-spark choose --corpus out/corpus --k 20,50,100,auto --output out/choice",
    flags=(
        Flag("corpus", "a corpus made by ingest", metavar="CORPUS", required=True),
        Flag("k", "numbers of topics to compare, separated by commas; auto for what the spectrum suggests", names,
             "K,…", required=True),
        Flag("output", "directory for choice.json, choice.csv, choice.svg and choice.html", metavar="DIR",
             required=True),
        Flag("stable", f"share of the topics that must come back from another seed (default {STABLE})", share),
        Flag("words", f"use a part of about so many words of larger corpora (default {number(SAMPLE_WORDS)})",
             whole_number(1000), "N"),
        *setting_flags(SETTINGS),
        FORMAT,
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

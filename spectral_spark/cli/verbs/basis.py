"""``spectral-spark basis``: a basis that several sites or days share."""

from argparse import Namespace
from typing import TYPE_CHECKING

from spectral_spark.cli.checks import corpus_manifest, memory_line, output_is_free
from spectral_spark.cli.flags import Flag, setting_flags
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.data.settings import HDP
from spectral_spark.files.formats import BASIS_KIND
from spectral_spark.fit.fit_settings import FitSettings

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun

# What decides the basis; the rest of a fit's settings comes later.
SETTINGS = tuple(
    HDP[name] for name in ("k", "weighting", "layers", "seed", "basisSize", "rangePasses", "wordScaling", "countCap")
)


def plan(settings: Namespace) -> list[str]:
    manifest = corpus_manifest(settings.corpus)
    output_is_free(settings.output, settings.overwrite, kind=BASIS_KIND, inputs={"--corpus": settings.corpus})
    given = {setting.attribute: getattr(settings, setting.attribute) for setting in SETTINGS}
    wanted = FitSettings(**{name: value for name, value in given.items() if value is not None})
    columns = wanted.basis_columns(manifest["terms"])
    return [
        f"find a basis of {columns} columns for '{settings.corpus}': "
        f"{number(manifest['documents']['train'])} documents, {number(manifest['terms'])} words",
        f"write it, with the vocabulary, to '{settings.output}'",
        memory_line(manifest["terms"], columns, settings.k, third=False),
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.cli.verbs.fit import estimator
    from spectral_spark.files.locking import only_writer
    from spectral_spark.ingest.corpus_store import open_corpus
    from spectral_spark.moments.basis import save_shared_basis

    corpus = open_corpus(run.spark, settings.corpus)
    given = {setting.name: getattr(settings, setting.attribute) for setting in SETTINGS}
    hdp = estimator(corpus.vocabulary, **{name: value for name, value in given.items() if value is not None})
    with only_writer(settings.output):
        basis = hdp.setProgress(run.passes).findBasis(corpus.documents("train"))
        save_shared_basis(basis, corpus.vocabulary, settings.output, overwrite=settings.overwrite)
    run.terminal.say(
        f"basis {settings.output}: {basis.size} directions over {number(basis.vocab_size)} words, in "
        f"{duration(run.seconds)}; use it with fit --basis"
    )


VERB = Verb(
    name="basis",
    summary="make a basis that several fits share, so that their moments add up",
    description=(
        "Moments can be added only within one basis and vocabulary. Make a basis from one corpus, or a sample of all,\n"
        "and give it to the fits of all sites (fit --basis): their models can then be merged (update --merge)."
    ),
    example="spectral-spark basis --corpus out/corpus --output out/basis --k 50",
    flags=(
        Flag("corpus", "a corpus made by ingest", metavar="CORPUS", required=True),
        Flag("output", "directory of the basis to write", metavar="BASIS", required=True),
        *setting_flags(SETTINGS),
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

"""``spectral-spark report``: a page people look at. Needs no Spark."""

from argparse import Namespace
from typing import TYPE_CHECKING

from spectral_spark.cli.checks import input_is_there, model_summary, output_is_free
from spectral_spark.cli.flags import Flag
from spectral_spark.cli.terminal import duration
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.files.formats import REPORT_KIND

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun


def plan(settings: Namespace) -> list[str]:
    from spectral_spark.report.page import check_page_name

    summary = model_summary(settings.model)
    check_page_name(settings.output)
    output_is_free(
        settings.output, settings.overwrite, kind=REPORT_KIND,
        inputs={"--model": settings.model, "--evaluation": settings.evaluation, "--answers": settings.answers},
    )
    if settings.evaluation:
        input_is_there(settings.evaluation, "--evaluation")
    if settings.answers:
        input_is_there(settings.answers, "--answers")
    return [
        f"describe '{settings.model}' ({summary['k']} topics) on one HTML page, '{settings.output}'",
        "memory: the model's topics and nodes; no Spark",
    ]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.report.page import build_report

    with run.terminal.doing("writing the report"):
        build_report(
            settings.model, settings.output, evaluation=settings.evaluation, answers=settings.answers,
            title=settings.title, overwrite=settings.overwrite,
        )
    run.terminal.say(f"report {settings.output}, in {duration(run.seconds)}; open it in a browser")


VERB = Verb(
    name="report",
    summary="one HTML page with topics, map and tree",
    description=(
        "Turn a fitted model into one self-contained HTML page: topics and their words, a map, the document tree with\n"
        "topic shares, and what is under the hood. It holds words, counts and shares, never document text."
    ),
    example="spectral-spark report --model out/model --output out/report.html",
    flags=(
        Flag("model", "a fitted model", metavar="MODEL", required=True),
        Flag("output", "the page to make", metavar="FILE.html", required=True),
        Flag("evaluation", "what evaluate wrote, to be shown too", metavar="FILE.json"),
        Flag("answers", "what the verb answers wrote: intervals, exemplars and columns, to be shown too",
             metavar="FILE.json"),
        Flag("title", "heading of the page", metavar="TEXT"),
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

"""``spectral-spark labels``: names for topics, in a file that people edit. Needs no Spark."""

from argparse import Namespace
from typing import TYPE_CHECKING

from spectral_spark.cli.checks import file_is_there, model_summary
from spectral_spark.cli.flags import Flag
from spectral_spark.cli.verb import Verb
from spectral_spark.errors import InputError
from spectral_spark.files.paths import exists

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun


def plan(settings: Namespace) -> list[str]:
    summary = model_summary(settings.model)
    if settings.input:
        file_is_there(settings.input)
    if settings.prompt and exists(settings.prompt):
        raise InputError(f"--prompt '{settings.prompt}' exists; choose another path, or remove it")
    what = f"with those of '{settings.input}'" if settings.input else "with suggestions for topics that have none"
    prompt = [f"write a prompt for a language model to '{settings.prompt}'"] if settings.prompt else []
    return [f"write the labels of {summary['k']} topics to '{settings.model}/labels.toml', {what}", *prompt,
            "memory: the model's topics; no Spark"]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.files.directories import read_file, replace_file, resolve, write_file
    from spectral_spark.files.labels_file import LABELS_TOML, labels_text, parse_labels
    from spectral_spark.files.model_files import read_model_files
    from spectral_spark.report.topic_names import BACKGROUND_NAME, measured_words, naming_prompt, topic_names

    files = read_model_files(settings.model)
    k = files.topics.shape[1]
    labels = dict(enumerate(topic_names(files)))
    if settings.input:
        labels |= parse_labels(read_file(*resolve(settings.input)), settings.input, k)
    hints = {topic: f"{files.weights[topic]:.1%}: {' '.join(measured_words(files, topic, 'probability', 8))}"
             for topic in range(k)}
    if files.background is not None and labels[files.background] == BACKGROUND_NAME:
        del labels[files.background], hints[files.background]
    replace_file(f"{settings.model}/{LABELS_TOML}", labels_text(labels, hints).encode())
    if settings.prompt:
        write_file(settings.prompt, naming_prompt(files).encode())
        run.terminal.say(f"prompt {settings.prompt}: give it to a language model, then --input the answer")
    run.terminal.say(f"labels {settings.model}/{LABELS_TOML}: {len(labels)} topics; edit the file, and every output "
                     "shows them")


VERB = Verb(
    name="labels",
    summary="name the topics in a file that you edit",
    description=(
        "Write MODEL/labels.toml with one line per topic: the name that it has, or a suggestion made of its most\n"
        "distinctive words. Edit the file; topics, infer, score, exemplars, compare, explain and report then show the\n"
        "names, and updates carry them on to the topics that continue. Reads the model's files only: no Spark."
    ),
    example="spectral-spark labels out/model",
    flags=(
        Flag("model", "a fitted model; may be given without the flag's name", metavar="MODEL", required=True),
        Flag("input", "take the names from this file, for example from an answer to the prompt", metavar="FILE.toml"),
        Flag("prompt", "also write a text that asks a language model for names", metavar="FILE.txt"),
    ),
    plan=plan,
    run=run,
    positional="model",
)

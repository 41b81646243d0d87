"""``spectral-spark edit``: topics are merged and split by hand."""

from argparse import Namespace
from typing import TYPE_CHECKING

from spectral_spark.cli.checks import corpus_manifest, model_summary, output_is_free, topics_memory
from spectral_spark.cli.flags import Flag, names
from spectral_spark.cli.terminal import number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.formats import MODEL_KIND
from spectral_spark.plain_text import printable

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun
    from spectral_spark.files.model_files import TopicModelFiles


def plan(settings: Namespace) -> list[str]:
    from spectral_spark.files.model_files import read_model_files

    if not settings.merge and not settings.split:
        raise SettingsError("nothing to do: give --merge TOPIC,TOPIC or --split TOPIC")
    summary = model_summary(settings.model)
    output_is_free(
        settings.output, settings.overwrite, kind=MODEL_KIND,
        inputs={"--model": settings.model, "--corpus": settings.corpus},
    )
    wanted_edits(settings, read_model_files(settings.model))
    lines = [f"start from '{settings.model}': {summary['k']} topics"]
    if settings.split:
        where = "the documents that the model keeps"
        if settings.corpus:
            where = f"the {number(corpus_manifest(settings.corpus)['documents']['train'])} documents of " \
                    f"'{settings.corpus}'"
        lines.append(f"split {' and '.join(map(printable, settings.split))} in two, by {where}")
    lines += [f"merge {' and '.join(map(printable, group))} into one topic" for group in settings.merge or ()]
    return [*lines, f"write the model to '{settings.output}'", topics_memory(summary)]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark import SpectralHDPModel
    from spectral_spark.cli.opened import CORPUS_PARAMETERS, on_corpus, with_columns_of
    from spectral_spark.cli.verbs.fit import save
    from spectral_spark.files.locking import only_writer

    with only_writer(settings.output), run.terminal.doing("editing"):
        first = SpectralHDPModel.load(settings.model)
        model, documents, before = first, None, first.k
        if settings.corpus:
            model, documents = on_corpus(run.spark, settings.corpus, first)
            documents = documents.where("split = 'train'")
        splits, groups = wanted_edits(settings, first.files)
        for topic in splits:
            model = model.splitTopic(topic, documents)
        if groups:
            model = model.mergeTopics(*groups)
        model = with_columns_of(first, model, CORPUS_PARAMETERS)
        remarks = save(model, settings.output, settings.overwrite)
    made = [f"  topic {topic} is {text}: {printable(name)}"
            for topic, (text, name) in enumerate(zip(model.lineage, model.labels, strict=True))
            if not text.isdecimal()]
    made += [f"  {remark}" for remark in remarks]
    if first.files.taxonomy is not None:
        made.append(f"  the taxonomy of {settings.model} does not fit these topics and was left out; fold them anew: "
                    f"spectral-spark taxonomy {settings.output} --levels N,M")
    run.terminal.say(f"model {settings.output}: {before} → {model.k} topics", *made)


def wanted_edits(settings: Namespace, files: "TopicModelFiles") -> tuple[list[int], list[list[int]]]:
    """Topics to split and groups to merge, by the numbers of the model that is edited."""
    from spectral_spark.report.topic_names import find_topics

    splits = find_topics(settings.split or (), files)
    groups = [find_topics(group, files) for group in settings.merge or ()]
    for place, group in enumerate(groups):
        if len(group) < 2:
            raise InputError(f"--merge {','.join(settings.merge[place])} names one topic; give at least two")
        if both := sorted(set(splits) & set(group)):
            raise InputError(f"topic {both[0]} is to be both split and merged; do one after the other")
        if twice := sorted(set(group) & {topic for other in groups[:place] for topic in other}):
            raise InputError(f"topic {twice[0]} is to be merged twice; name all of its topics in one --merge")
    if len(files.weights) + len(splits) - sum(len(group) - 1 for group in groups) < 2:
        raise InputError("a model of a single topic says nothing; merge fewer topics")
    return splits, groups


VERB = Verb(
    name="edit",
    summary="merge and split topics by hand",
    description=(
        "Merge topics that say the same thing, and split one that says two. Merging adds up: the merged topic is the\n"
        "mean of its parts, weighted by their words, and takes the smallest of their numbers; later topics move up.\n"
        "Splitting samples two topics within the words of one, in the documents that the model keeps or in those of\n"
        "--corpus; together they are what the topic was. All numbers are those of MODEL. 'topics' shows where every\n"
        "topic comes from, and updates carry that on."
    ),
    example="spectral-spark edit --model out/model --merge 2,5 --split 1 --output out/edited",
    flags=(
        Flag("model", "the model to start from", metavar="MODEL", required=True),
        Flag("merge", "topics that become one, by number or label, separated by commas; may be repeated", names,
             "TOPIC,…", repeated=True),
        Flag("split", "topics that become two each, by number or label, separated by commas", names, "TOPIC,…"),
        Flag("corpus", "documents to split by, a corpus as ingest makes it; by default those that the model keeps",
             metavar="CORPUS"),
        Flag("output", "directory of the model to make", metavar="MODEL2", required=True),
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)

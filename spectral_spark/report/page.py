"""One self-contained HTML page from a saved model, without Spark and without a network.

Everything is inlined: style, the two vendored libraries, our scripts and the data. A content security policy with the
scripts' own hashes forbids all else, so that even a name that slipped through the escaping could not run.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.directories import exists, resolve, write_file
from spectral_spark.files.formats import REPORT_KIND
from spectral_spark.files.model_files import TopicModelFiles, read_model_files
from spectral_spark.report.encoding import finite, script_json
from spectral_spark.report.payload import page_payload, topic_coherence, topic_labels
from spectral_spark.report.read_answers import read_answers
from spectral_spark.report.read_evaluation import checked_evaluation, read_evaluation
from spectral_spark.report.run_details import hood_tables
from spectral_spark.report.summary_text import answers, corpus_name

_LIBRARIES = ("vendor/d3.min.js", "vendor/plot.umd.min.js")
_SCRIPTS = (
    "dom", "export", "model", "answers", "topics", "map", "search", "fields", "icicle", "small_multiples", "tree",
    "heat", "compare", "columns", "taxonomy", "changes", "hood", "view", "main",
)
_STYLES = ("base", "frame", "topics", "parts", "media")
_WORDS_IN_TABLE = 12


def build_report(
    model_path: str,
    output: str,
    evaluation: str | None = None,
    title: str | None = None,
    overwrite: bool = False,
    answers: str | None = None,
) -> None:
    """Write the report page of a saved model.

    Parameters
    ----------
    model_path : a model directory as ``fit`` and ``model.save`` write it.
    output : the HTML file; it appears complete or not at all.
    evaluation : JSON file of the verb ``evaluate``; without it, the model's own ``evaluation.json`` if it has one.
    title : heading of the page; the corpus's name if not given.
    overwrite : replace an existing file; without it one is refused.
    answers : JSON file of the verb ``answers``: intervals, exemplars and columns.

    Examples
    --------
    >>> build_report("out/model", "out/report.html", overwrite=True)  # doctest: +SKIP
    """
    check_page_name(output)
    if exists(output) and not overwrite:
        raise InputError(f"'{output}' exists; choose another path, remove it, or allow overwriting")
    files = read_model_files(model_path)
    if evaluation is not None:
        files = replace(files, evaluation=read_evaluation(evaluation))
    elif files.evaluation is not None:
        checked_evaluation(files.evaluation, f"{model_path}/evaluation.json")
    name = title or corpus_name(files) or _folder_name(model_path)
    asked = read_answers(answers, files.topics.shape[1]) if answers is not None else None
    write_file(output, render(files, name, asked).encode(), REPORT_KIND, overwrite=overwrite)


def check_page_name(output: str) -> None:
    """Refuse a name that promises another format than HTML."""
    ending = PurePosixPath(output).suffix.lower()
    if ending not in ("", ".html", ".htm"):
        raise SettingsError(f"the report is an HTML page and '{output}' ends in '{ending}'; choose a name that ends in "
                            ".html, and print that page from a browser where you need a PDF")


def _folder_name(model_path: str) -> str:
    """The model's folder, or the one around it when the folder is just called "model"."""
    names = [part for part in PurePosixPath(resolve(model_path)[1]).parts if part != "/"]
    return next((part for part in reversed(names) if part != "model"), "Topics")


def render(files: TopicModelFiles, title: str, asked: Mapping[str, Any] | None = None) -> str:
    """The page as text; ``asked`` are answers about documents (see ``read_answers``)."""
    libraries = [_script(_resource(name)) for name in _LIBRARIES]
    own = "\n".join(_resource(f"scripts/{name}.js") for name in _SCRIPTS)
    scripts = [*libraries, _script(f'(() => {{\n"use strict";\n{own}\n}})();')]
    template = _environment().get_template("page.html")
    return template.render(
        title=title,
        policy=_policy(scripts),
        style=Markup("\n".join(_resource(f"style/{name}.css") for name in _STYLES)),
        answers=answers(files, files.evaluation),
        topics=_topic_rows(files),
        groups=len(files.nodes.paths) - 1,
        has_coherence=any(value is not None for value in topic_coherence(files, files.evaluation)),
        hood=hood_tables(files),
        has_taxonomy=getattr(files, "taxonomy", None) is not None,
        changes=finite(files.changes),
        has_spectrum=bool(files.summary.get("spectrum")),
        has_passes=bool(files.summary.get("passes")),
        columns=[" and ".join(column["by"]) for column in (asked or {}).get("columns", [])],
        data=Markup(script_json(page_payload(files, files.evaluation, asked))),
        scripts=[Markup(text) for text in scripts],
    )


def _topic_rows(files: TopicModelFiles) -> list[dict[str, Any]]:
    labels, coherence = topic_labels(files, _WORDS_IN_TABLE), topic_coherence(files, files.evaluation)
    order = sorted(range(len(labels)), key=lambda topic: (-files.weights[topic], topic))
    return [
        {"number": t, "share": float(files.weights[t]), "label": files.labels.get(t), "words": labels[t],
         "coherence": coherence[t]} for t in order
    ]


def _environment() -> Environment:
    loader = PackageLoader("spectral_spark.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda share: f"{share:.1%}" if share >= 0.0995 else f"{share:.2%}"
    return environment


def _resource(name: str) -> str:
    return resources.files("spectral_spark.report").joinpath(name).read_text(encoding="utf-8")


def _script(text: str) -> str:
    """A script's exact text between its tags; the policy's hash is over this."""
    if "</script" in text.lower() or "<!--" in text:
        raise AssertionError("a script of the page would end its own element")
    return f"\n{text}\n"


def _policy(scripts: list[str]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

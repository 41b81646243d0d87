"""What a model shows of itself: text, HTML, figures, and the report page."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from spectral_spark.files.model_files import TopicModelFiles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TOPICS, _WORDS = 10, 8
_HEIGHT = 800


class ReportPage:
    """The report as a notebook shows it; ``html`` is the page itself."""

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        page = escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="{_HEIGHT}" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return f"ReportPage({len(self.html):,} characters; shown in a notebook, or write it with model.report(path))"


class ModelPictures:
    """What a model with ``files`` can show of itself."""

    @property
    def files(self) -> TopicModelFiles:
        """Everything but the moments, as it is saved."""
        raise AttributeError("files")

    def plotSpectrum(self) -> "Figure":
        """The spectrum, the noise floor and the chosen k."""
        from spectral_spark.report import figures

        return figures.plot_spectrum(self.files.summary)

    def plotTopics(self, topics: int = 12, words: int = 10) -> "Figure":
        """The heaviest words of the heaviest topics, both ordered by weight."""
        from spectral_spark.report import figures

        return figures.plot_topics(self.files, topics=topics, words=words, relevance=1.0)

    def plotTree(self) -> "Figure":
        """Topic proportions of the tree's nodes."""
        from spectral_spark.report import figures

        return figures.plot_tree(self.files)

    def toPyLDAvis(self) -> dict[str, Any]:
        """What ``pyLDAvis.prepare`` takes, as keyword arguments."""
        from spectral_spark.report import figures

        return figures.to_pyldavis(self.files)

    def report(
        self, path: str | None = None, *, title: str | None = None, overwrite: bool = False,
        answers: Mapping[str, Any] | str | None = None,
    ) -> ReportPage:
        """The report page: shown in a notebook, and written to an HTML file when ``path`` is given.

        Parameters
        ----------
        path : str, optional
            The file to write. It appears complete or not at all; an existing one is refused without ``overwrite``.
        title : str, optional
            Heading of the page; the name of the corpus if not given.
        answers : dict or str, optional
            What ``model.answers`` gave, or a file of the verb ``answers``: intervals, exemplars and columns.
        """
        from spectral_spark.errors import InputError
        from spectral_spark.files.directories import exists, write_file
        from spectral_spark.report.page import render
        from spectral_spark.report.read_answers import checked_answers, read_answers
        from spectral_spark.report.summary_text import corpus_name

        if path is not None and exists(path) and not overwrite:
            raise InputError(f"'{path}' exists; choose another path, remove it, or set overwrite=True")
        k = self.files.topics.shape[1]
        asked = read_answers(answers, k) if isinstance(answers, str) else (
            None if answers is None else checked_answers(answers, "answers", k)
        )
        html = render(self.files, title or corpus_name(self.files) or "Topics", asked)
        if path is not None:
            write_file(path, html.encode(), overwrite=overwrite)
        return ReportPage(html)

    def __repr__(self) -> str:
        lines = [self._headline()]
        lines += [f"  topic {t}, {share:.1%} of the words: {' '.join(words)}" for t, share, words in self._top()]
        hidden = self.files.topics.shape[1] - _TOPICS
        return "\n".join([*lines, *([f"  … and {hidden} more"] if hidden > 0 else [])])

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td>{topic}</td><td>{share:.1%}</td><td style="text-align:left">{escape(", ".join(words))}</td></tr>'
            for topic, share, words in self._top()
        )
        hidden = self.files.topics.shape[1] - _TOPICS
        more = f"<p>… and {hidden} more</p>" if hidden > 0 else ""
        heads = "<tr><th>topic</th><th>share of words</th><th>heaviest words</th></tr>"
        return f"<div><b>{escape(self._headline())}</b><table>{heads}{rows}</table>{more}</div>"

    def _headline(self) -> str:
        files = self.files
        documents, (terms, k) = files.summary.get("documents", 0), files.topics.shape
        groups = len(files.nodes.paths) - 1
        tree = f", {groups:,} groups" if groups else ""
        return f"{type(self).__name__}: {k} topics from {documents:,} documents, {terms:,} words{tree}"

    def _top(self) -> list[tuple[int, float, list[str]]]:
        """Number, weight and heaviest words of the heaviest topics."""
        topics, weights, names = self.files.topics, self.files.weights, self.files.vocabulary
        chosen = np.argsort(-weights, kind="stable")[:_TOPICS]
        best = {int(t): np.argsort(-topics[:, t], kind="stable")[:_WORDS] for t in chosen}
        return [
            (t, float(weights[t]), [names[i] if names else f"word {i}" for i in words]) for t, words in best.items()
        ]

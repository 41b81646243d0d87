"""A fitted model that needs no Spark: load it, give it texts or counts, and it answers with topic proportions."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Self

from spectral_spark.errors import InputError
from spectral_spark.files.directories import open_directory
from spectral_spark.files.model_files import MODEL_KIND, MODEL_VERSION, NodeTable, TopicModelFiles, model_files_from
from spectral_spark.refine.backend import backend_name
from spectral_spark.refine.fixed_topics import FixedTopics, NodeFinder
from spectral_spark.serve.explanation import Explanation, explain_words
from spectral_spark.text.text_recipe import TEXT_JSON, TextCounter, TextRecipe

if TYPE_CHECKING:
    from gensim.models import LdaModel
    from scipy import sparse

TextPath = Sequence[str | None] | str | None


class TopicModel:
    """Topics of a saved model, with NumPy alone: no Spark, no JVM.

    The proportions are those of ``SpectralHDPModel.transform``, bit for bit, on the same kind of processor and with
    the same ``backend``.

    Parameters
    ----------
    files : TopicModelFiles
        What the model's directory says about its topics; ``TopicModel.load`` reads it.
    recipe : TextRecipe, optional
        How text became words when the model was fitted. None for a model that was fitted to counts.
    tokeniser : callable, optional
        Makes words from a text, for a model without a recipe, such as one that was fitted behind a
        ``CountVectorizer``: ``lambda text: text.lower().split()`` is what ``pyspark.ml.feature.Tokenizer`` does. Also
        for a model whose words came from a tokeniser of one's own: its files only say the name of that.
    backend : str
        "numba" is fast once it is compiled, which takes two seconds; "numpy" starts at once. "auto" takes numba where
        it is installed.

    Examples
    --------
    >>> model = TopicModel.load("out/model")                               # doctest: +SKIP
    >>> model.infer(["the wind took the boat out of the harbour"]).shape   # doctest: +SKIP
    (1, 8)
    """

    def __init__(
        self, files: TopicModelFiles, recipe: TextRecipe | None = None, *,
        tokeniser: Callable[[str], Iterable[str]] | None = None, backend: str = "auto",
    ) -> None:
        backend_name(backend)
        if recipe is not None and recipe.tokeniser_name is not None:
            recipe, tokeniser = recipe.using(tokeniser), None
        self.files, self.recipe, self._words = files, recipe, tokeniser or recipe
        concentration = float(files.summary.get("document_concentration") or 1.0)
        self._topics = FixedTopics(files.topics, files.nodes.proportions, concentration, backend=backend)
        self._finder = NodeFinder(files.nodes.paths)

    @classmethod
    def load(
        cls, path: str, *, tokeniser: Callable[[str], Iterable[str]] | None = None, backend: str = "auto"
    ) -> Self:
        """Read a model that ``SpectralHDPModel.save`` or ``spectral-spark fit`` wrote."""
        saved = open_directory(path, MODEL_KIND, MODEL_VERSION)
        recipe = None
        if saved.has(TEXT_JSON):
            recipe = TextRecipe.from_dict(saved.read_json(TEXT_JSON), f"{saved.path}/{TEXT_JSON}")
        return cls(model_files_from(saved), recipe, tokeniser=tokeniser, backend=backend)

    def __repr__(self) -> str:
        return f"TopicModel(k={self.k}, words={self.vocab_size:,}, tree nodes={len(self.nodes.paths):,})"

    @property
    def k(self) -> int:
        """Number of topics."""
        return int(self.files.topics.shape[1])

    @property
    def vocab_size(self) -> int:
        """Number of words d."""
        return int(self.files.topics.shape[0])

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """The words in the order of their ids; None when they are not known."""
        return self.files.vocabulary

    @property
    def topics(self) -> np.ndarray:
        """Topics of shape (d, k); columns are positive and sum to one."""
        return self.files.topics

    @property
    def weights(self) -> np.ndarray:
        """Share of the corpus' words of each topic, shape (k,)."""
        return self.files.weights

    @property
    def nodes(self) -> NodeTable:
        """The document tree with its proportions."""
        return self.files.nodes

    def infer(self, texts: Iterable[str | None], paths: Iterable[TextPath] | None = None) -> np.ndarray:
        """Topic proportions of texts.

        Parameters
        ----------
        texts : iterable of str
            Read as in the fit; words that the model does not know are passed over.
        paths : iterable, optional
            The place of each text in the document tree: a list of names from the top-level group down, or one name.
            Proportions then lean towards those of the deepest node that the model knows. None: the root.

        Returns
        -------
        array of shape (n, k)
            Rows sum to one. A text without known words has the proportions of its node.
        """
        if isinstance(texts, str):
            raise InputError("infer takes a list of texts; put the text in brackets: infer([text])")
        rows = list(texts)
        terms, starts, counts = self.counter.arrays(rows)
        shares, _ = self.of_rows(terms, starts, counts.astype(np.float64), self._paths(paths, len(rows)))
        return shares

    def infer_counts(
        self, counts: "sparse.csr_matrix | sparse.csr_array | np.ndarray", paths: Iterable[TextPath] | None = None
    ) -> np.ndarray:
        """Topic proportions of word counts.

        Parameters
        ----------
        counts : sparse matrix or array of shape (n, d)
            The columns are the words in the order of ``vocabulary``.
        paths : iterable, optional
            As in ``infer``.

        Returns
        -------
        array of shape (n, k)
            Rows sum to one; a row with a negative count, or one that is not a number, is NaN.
        """
        from scipy.sparse import csr_matrix

        rows = csr_matrix(counts, dtype=np.float64, copy=True)
        if rows.shape[1] != self.vocab_size:
            raise InputError(f"the counts have {rows.shape[1]:,} columns, but the model has {self.vocab_size:,} words; "
                             "count with the model's vocabulary, in its order")
        rows.sum_duplicates()                       # also sorts the words of a row, as in Spark's Vectors
        shares, good = self.of_rows(
            rows.indices, rows.indptr.astype(np.int64), rows.data, self._paths(paths, rows.shape[0])
        )
        shares[~good] = np.nan
        return shares

    def of_rows(
        self, terms: np.ndarray, starts: np.ndarray, counts: np.ndarray, paths: Iterable[Sequence[str | None]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Proportions of compressed rows of word ids and counts, and which rows could be used."""
        return self._topics.of_counts(terms, starts, counts, self._finder.nodes(paths))

    def explain(self, text: str, path: TextPath = None, *, shares: np.ndarray | None = None) -> Explanation:
        """Which words of a text speak for which topic; ``shares`` are its proportions, if they are known already."""
        found = self.infer([text], [path])[0] if shares is None else shares
        return explain_words(self.counter.words(text), self.counter.ids, self.topics, found)

    def top_documents(
        self, texts: Sequence[str], topic: int, count: int = 10, paths: Iterable[TextPath] | None = None
    ) -> list[tuple[int, float]]:
        """The texts with the largest share of a topic: their positions and shares, the largest first."""
        if not 0 <= topic < self.k:
            raise InputError(f"there is no topic {topic}; the model has topics 0 to {self.k - 1}")
        shares = self.infer(texts, paths)[:, topic]
        return [(int(at), float(shares[at])) for at in np.argsort(-shares, kind="stable")[:count]]

    def describe_topics(self, words: int = 10) -> list[dict[str, Any]]:
        """One row per topic, the largest first: topic, share, words, probabilities, distinctive."""
        from spectral_spark.report.topic_table import topic_table

        return topic_table(self.files, words)

    def first_words(self, count: int) -> list[list[str]]:
        """The most frequent words of each topic, in the order of the topics; their numbers where words are unknown."""
        best = np.argsort(-self.topics, axis=0, kind="stable")[:count].T
        return [[self.vocabulary[word] if self.vocabulary else str(word) for word in row] for row in best]

    def to_pyldavis(self) -> dict[str, Any]:
        """Keyword arguments for ``pyLDAvis.prepare``."""
        from spectral_spark.report.pyldavis import to_pyldavis

        return to_pyldavis(self.files)

    def to_gensim(self) -> "LdaModel":
        """The topics as a ``gensim.models.LdaModel``, with the root's proportions as its prior."""
        from spectral_spark.serve.gensim_export import gensim_model

        return gensim_model(self.files)

    def to_csv(self, path: str, words: int = 10) -> None:
        """Write ``topics.csv``: topic, share and words of every topic."""
        from spectral_spark.serve.csv_export import write_topics

        write_topics(self.describe_topics(words), path)

    @property
    def reads_text(self) -> bool:
        """Whether the model has its words and knows how text becomes words."""
        return self.vocabulary is not None and self._words is not None

    @cached_property
    def counter(self) -> TextCounter:
        """Counts the words of texts; an error for a model that cannot read text."""
        if self.vocabulary is None:
            raise InputError("this model was saved without its words, so it cannot read text; use infer_counts")
        if self._words is None:
            raise InputError("this model was fitted to word counts and does not say how text becomes words; load it "
                             "with tokeniser=, a function from a text to its words, or use infer_counts")
        return TextCounter(self._words, self.vocabulary)

    @staticmethod
    def _paths(paths: Iterable[TextPath] | None, n: int) -> list[Sequence[str | None]]:
        if paths is None:
            return [()] * n
        given = [(path,) if isinstance(path, str) else path or () for path in paths]
        if len(given) != n:
            raise InputError(f"there are {n:,} documents but {len(given):,} paths; give one path for each document")
        return given

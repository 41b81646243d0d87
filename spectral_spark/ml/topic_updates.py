"""Updates of a topic model: documents added, documents removed, two models merged."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession
from typing_extensions import Self

from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.fit.edit_topics import documents_for_split, merge_by_hand, split_by_hand
from spectral_spark.fit.fitted_topics import FittedTopics
from spectral_spark.fit.merge import merge_topics
from spectral_spark.fit.update import UpdateOptions, update_topics
from spectral_spark.ml.topic_wording import TopicWording
from spectral_spark.report.taxonomy_view import carried
from spectral_spark.report.topic_names import find_topic, find_topics
from spectral_spark.text.text_recipe import TextRecipe


class TopicUpdates(TopicWording):
    """A topic model that changes with its corpus. A change returns a new model."""

    _progress = Progress()

    def __init__(self, fitted: FittedTopics, recipe: TextRecipe | None = None) -> None:
        super().__init__()
        self._fitted = fitted
        self._recipe = recipe

    def setCorpus(
        self, name: str, dropped: dict[str, int], heldOut: int | None = None, cutWords: Sequence[str] | None = None,
        table: dict[str, Any] | None = None,
    ) -> Self:
        """Record in the run report which corpus this is, what was dropped on reading it, and how many documents are
        held out. ``cutWords`` were left out of the vocabulary on purpose; an update does not report them as new words.
        ``table`` says which version of which table the documents are, for updates by its changes.
        """
        summary = self._fitted.summary
        known: dict[str, Any] = {"name": name, "dropped": dict(dropped)}
        known |= {} if heldOut is None else {"held_out": heldOut}
        known |= {} if cutWords is None else {"cut_words": list(cutWords)}
        known |= {} if table is None else {"table": dict(table)}
        extra = {**summary.extra, "corpus": known}
        self._fitted = replace(self._fitted, summary=replace(summary, extra=extra))
        self.__dict__.pop("files", None)
        return self

    def setTextRecipe(self, recipe: TextRecipe | None) -> Self:
        """Record how the words were made from text, so that the model can read text."""
        self._recipe = recipe
        for kept in ("_counter", "_topic_model"):
            self.__dict__.pop(kept, None)
        return self

    @property
    def changes(self) -> dict[str, Any] | None:
        """How topics moved in the update that made this model, and its drift; None for a fit."""
        return self._fitted.changes

    def setProgress(self, progress: Progress) -> Self:
        """Where updates show progress."""
        self._progress = progress
        return self

    def update(
        self, dataset: Any, *, remove: bool = False, skipKnown: bool = False, unseenShare: float = 0.0,
        cutShare: float = 0.0, replay: Any = None, checkpointDir: str | None = None,
    ) -> Self:
        """A model of the old documents and these or, with ``remove``, of the old documents without these.

        Reads only ``dataset``; what is needed of the old documents is in the moments.

        Parameters
        ----------
        dataset : documents, in Spark or pandas, with the columns that the model was fitted to.
        remove : take these documents out instead of adding them.
        skipKnown : skip documents that the model already has; otherwise they are refused.
        unseenShare : share of the documents' words that were left out because the vocabulary lacks them.
        cutShare : share of the documents' words that the vocabulary leaves out on purpose.
        replay : old documents to use in the refinement again, instead of the sample that the model keeps.
        checkpointDir : keeps finished passes until the update is done, so that it can be resumed.

        Notes
        -----
        ``groupBalance`` stays in force. New documents are weighted by the group sizes that include them; old documents
        keep the weights they had, until ``replay`` or a new fit weights them again.
        """
        options = UpdateOptions(remove, skipKnown, unseenShare, checkpointDir, cutShare)
        ready = self._prepared(self._on_spark(dataset), counter=self._counter)
        again = None if replay is None else self._prepared(self._on_spark(replay), counter=self._counter).frame
        fitted = update_topics(
            self._fitted, ready.frame, ready.columns, options, replay=again, progress=self._progress
        )
        return self._with(self._labelled(fitted))

    def merge(self, other: Self) -> Self:
        """A model of the documents of both. Both must have been fitted in the same basis; no documents are read."""
        fitted = merge_topics(self._fitted, other._fitted, spark=SparkSession.active(), progress=self._progress)
        return self._with(self._labelled(fitted))

    def mergeTopics(self, *groups: Sequence[int | str]) -> Self:
        """A model in which each group of topics is one topic. No documents are read.

        The merged topic is the mean of its parts weighted by their words; weights and proportions of nodes add up
        exactly, and everything else stays as it is. It gets the smallest number of its parts, and later topics move up;
        ``lineage`` says where every topic comes from.

        Parameters
        ----------
        *groups : lists of at least two topics each, by number or label.

        Examples
        --------
        >>> model = SpectralHDP(k=3, textCol="text", minDocuments=2, seed=1).fit(notes)
        >>> model.mergeTopics([0, 2]).lineage
        ['0+2', '1']
        """
        found = [find_topics(map(str, group), self.files) for group in groups]
        return self._with(merge_by_hand(self._fitted, found))

    def splitTopic(self, topic: int | str, dataset: Any = None) -> Self:
        """A model in which one topic is two, which are sampled within the words that the topic has in documents.

        What the two parts have adds up to what the topic had, and all other topics stay as they are. The larger part
        keeps the number (of a topic with seeds, the part that has more of them); the other one is the last.

        Parameters
        ----------
        topic : number or label.
        dataset : documents as in the fit; by default the sample that the model keeps (``replayWords``).
        """
        number = find_topic(str(topic), self.files)
        if dataset is None:
            sample = self._fitted.sample
            if sample is None or not len(sample):
                raise InputError("this model has kept no documents (`replayWords`); give documents to split a topic "
                                 "with")
            return self._with(split_by_hand(self._fitted, number, sample.documents, sample.paths))
        ready = self._prepared(self._on_spark(dataset), counter=self._counter)
        documents, paths = documents_for_split(self._fitted, ready.frame, ready.columns, self._progress)
        return self._with(split_by_hand(self._fitted, number, documents, paths))

    def _labelled(self, fitted: FittedTopics) -> FittedTopics:
        """The updated topics with the labels of the topics that they were before, and the same levels above them."""
        before = {topic["topic"]: topic["previous"] for topic in (fitted.changes or {}).get("topics", [])}
        known = self._fitted.labels
        labelled = replace(fitted, labels={now: known[old] for now, old in before.items() if old in known})
        if self._fitted.taxonomy is None:
            return labelled
        folded = carried(self._fitted.taxonomy, self._with(labelled).files, before)
        return replace(labelled, taxonomy=folded.as_dict() if folded else None)

    def _with(self, fitted: FittedTopics) -> Self:
        model: Self = self._copyValues(type(self)(fitted, self._recipe))
        return model

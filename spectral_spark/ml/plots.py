"""Figures of a model for notebooks, and its form for pyLDAvis."""

from typing import TYPE_CHECKING, Any

from spectral_spark.files.model_files import TopicModelFiles

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        """The heaviest words of the heaviest topics."""
        from spectral_spark.report import figures

        return figures.plot_topics(self.files, topics=topics, words=words)

    def plotTree(self) -> "Figure":
        """Topic proportions of the tree's nodes."""
        from spectral_spark.report import figures

        return figures.plot_tree(self.files)

    def toPyLDAvis(self) -> dict[str, Any]:
        """What ``pyLDAvis.prepare`` takes, as keyword arguments."""
        from spectral_spark.report import figures

        return figures.to_pyldavis(self.files)

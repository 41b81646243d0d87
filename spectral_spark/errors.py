"""Errors that are meant for people: each says what was wrong, where, and what to do."""


class SpectralError(ValueError):
    """Base of every error this package raises on purpose. The command line prints its message and nothing else."""


class InputError(SpectralError):
    """The data cannot be used as it is."""


class NoDocumentsError(InputError):
    """Every document was dropped.

    Attributes
    ----------
    dropped : how many, by reason.
    """

    def __init__(self, message: str, dropped: dict[str, int]) -> None:
        super().__init__(message)
        self.dropped = dropped


class SettingsError(SpectralError):
    """A parameter, flag or configuration value is wrong."""


class StoreError(InputError, OSError):
    """A remote store refuses, or cannot be reached; code that handles errors of files handles this one, too."""


class FormatError(SpectralError):
    """A saved corpus, model, basis or state is missing parts, damaged, foreign or too new."""


class CapacityError(SpectralError):
    """The work does not fit the memory it would be given."""


INSTALL_SPARK = (
    "pip install 'spectral-spark[spark]', or on a cluster with its own Spark set SPARK_HOME or use spark-submit; "
    "TopicModel, infer, topics and report work without"
)


class SparkMissingError(SettingsError, ImportError):
    """Something that needs Spark was used where pyspark cannot be imported."""

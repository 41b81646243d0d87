"""What is different in a session of Spark Connect, where the client has no JVM and the server may allow little."""

import os
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_REFUSALS = ("NOT_SUPPORTED", "UNSUPPORTED", "NOT_IMPLEMENTED", "NOT_AVAILABLE", "not supported", "not implemented")


def is_connect(spark: Any) -> bool:
    """Whether the session is one of Spark Connect."""
    return getattr(spark, "_sc", None) is None


def refused(error: PySparkException) -> bool:
    """Whether the server does not have, or does not allow, what was asked of it. Serverless platforms refuse caches
    and most settings."""
    return any(word in str(error) for word in _REFUSALS)


def session_setting(spark: SparkSession, name: str) -> str | None:
    """The value of one of our settings ``spark.spectral.…``; None if it is set nowhere.

    Where the server does not take settings, environment variables of the client do: ``SPECTRAL_STAGING`` stands for
    ``spark.spectral.staging``.
    """
    try:
        given: str | None = spark.conf.get(name, None)
    except PySparkException as error:
        if not refused(error):
            raise
        given = None
    if given is not None:
        return given
    short = name.removeprefix("spark.spectral.")
    letters = "".join(f"_{letter}" if letter.isupper() else letter for letter in short)
    return os.environ.get(f"SPECTRAL_{letters.upper()}")

"""What executors need for a lazy DataFrame is sent once, and let go with its owner."""

import gc

from pyspark.sql import SparkSession

from spectral_spark.engine import held


class Thing:
    """Anything with an identity."""

    number = 7


def test_one_broadcast_for_a_thing_until_it_is_gone(spark: SparkSession) -> None:
    frame, thing = spark.range(1), Thing()
    first, again = held.hold(frame, thing), held.hold(frame, thing)
    assert first().number == again().number == 7
    assert first.__closure__[0].cell_contents is again.__closure__[0].cell_contents
    assert thing in held._held
    before = len(held._held)
    del thing
    gc.collect()
    assert len(held._held) == before - 1

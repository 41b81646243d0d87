"""What executors need for a lazy DataFrame is sent once, and let go with its owner."""

import gc

from pyspark.sql import SparkSession

from spectral_spark.engine import broadcast_cache


class Thing:
    """Anything with an identity."""

    number = 7


def test_one_broadcast_for_a_thing_until_it_is_gone(spark: SparkSession) -> None:
    frame, thing = spark.range(1), Thing()
    first, again = broadcast_cache.hold(frame, thing), broadcast_cache.hold(frame, thing)
    assert first().number == again().number == 7
    assert first.__closure__[0].cell_contents is again.__closure__[0].cell_contents
    assert thing in broadcast_cache._held
    before = len(broadcast_cache._held)
    del thing
    gc.collect()
    assert len(broadcast_cache._held) == before - 1

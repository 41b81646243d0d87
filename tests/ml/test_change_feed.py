"""The rows of a change feed: what a document was before its first change goes, what it is after the last one comes."""

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark import SpectralHDP
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ml.change_feed import apply_changes, net_changes


def test_the_net_of_many_changes(spark: SparkSession) -> None:
    rows = [
        ("kept", "a", "update_preimage", 1), ("kept", "b", "update_postimage", 1),
        ("kept", "b", "update_preimage", 2), ("kept", "a", "update_postimage", 2),
        ("moved", "a", "update_preimage", 1), ("moved", "b", "update_postimage", 1),
        ("moved", "b", "update_preimage", 3), ("moved", "c", "update_postimage", 3),
        ("gone", "a", "delete", 2), ("passing", "a", "insert", 1), ("passing", "a", "delete", 2),
        ("back", "a", "delete", 1), ("back", "z", "insert", 4), ("new", "n", "insert", 2),
    ]
    feed = spark.createDataFrame(rows, ["id", "text", "_change_type", "_commit_version"])
    removed, added = net_changes(feed, "id", ["text"])
    assert sorted(map(tuple, removed.collect())) == [("back", "a"), ("gone", "a"), ("moved", "a")]
    assert sorted(map(tuple, added.collect())) == [("back", "z"), ("moved", "c"), ("new", "n")]


def test_a_model_after_changes_has_the_documents_that_are_left_and_only_once(documents: DataFrame) -> None:
    columns = {"termsCol": "terms", "countsCol": "counts", "idCol": "doc_id"}
    number = F.substring("doc_id", 2, 9).cast("int")
    first = documents.filter(number < 300)
    hdp = SpectralHDP(k=3, refinePasses=0, exploreSweeps=0, vocabSize=300, **columns)
    model = hdp.fit(first)
    gone, changed, new = (documents.filter(part) for part in (number < 5, number.between(5, 9), number == 300))
    other = changed.withColumn("counts", F.transform("counts", lambda count: count + 1))
    parts = [(gone, "delete"), (changed, "update_preimage"), (other, "update_postimage"), (new, "insert")]
    feed = None
    for part, kind in parts:
        marked = part.withColumn("_change_type", F.lit(kind)).withColumn("_commit_version", F.lit(1))
        feed = marked if feed is None else feed.unionByName(marked)
    assert feed is not None
    after = apply_changes(model, feed)
    left = first.filter(number > 9).unionByName(other).unionByName(new)
    expected = hdp.setBasis(model.basis).fit(left)
    assert after.summary.documents == 296
    for model_after in (after, apply_changes(after, feed)):               # once more changes nothing
        for name in ("keys", "contents"):
            found, wanted = (getattr(model._fitted.known, name) for model in (model_after, expected))
            np.testing.assert_array_equal(found, wanted)
    with pytest.raises(InputError, match="readChangeFeed"):
        apply_changes(model, first)
    nameless = model.copy()
    nameless.clear(nameless.idCol)
    with pytest.raises(SettingsError, match="idCol"):
        apply_changes(nameless, feed)

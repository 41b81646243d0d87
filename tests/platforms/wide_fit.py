"""A fit whose vocabulary times basis size is above ten million numbers, with a hash of its topics.

    python wide_fit.py ANSWER SCRATCH [remote=sc://HOST:PORT]

Without ``remote`` the session is a classic one. 3,000 documents are drawn from 100 topics over 100,000 words, so the
basis, the topics and what is counted for them are arrays of 80 MB and more.
"""

import json
import sys

from everything import digest, session

from spectral_spark import SpectralHDP
from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.ingest.simulate import simulate_hdp

WORDS, TOPICS = 100_000, 100


def main() -> None:
    answer, _, *words = sys.argv[1:]
    spark = session(dict(word.split("=", 1) for word in words).get("remote"))
    table = simulate_hdp((WORDS, TOPICS), [1500, 1500], [8.0, 0.5], (60, 100), seed=6).table()
    model = SpectralHDP(
        k=TOPICS, rangePasses=2, refinePasses=1, exploreSweeps=4, termsCol="terms", countsCol="counts", idCol="doc_id",
        vocabSize=WORDS, seed=1,
    ).fit(frame_from_arrow(spark, table).repartition(3))
    found = {"topics": digest(model), "numbers": model.topicsMatrix().size, "py4j": "py4j" in sys.modules}
    with open(answer, "w") as sink:
        json.dump(found, sink)
    spark.stop()


if __name__ == "__main__":
    main()

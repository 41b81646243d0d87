"""Several verbs in one Spark application: ``spark-submit several_verbs.py FILE.json``, a list of lists of words."""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from spectral_spark.cli import main

if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    for words in json.loads(Path(sys.argv[1]).read_text()):
        if code := main(words, session):
            sys.exit(code)

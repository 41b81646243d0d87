"""``spark-submit jobs/topics.py …`` is ``spectral-spark topics …`` on a cluster; ``--help`` explains it."""

from spectral_spark.cli.run import run_job

if __name__ == "__main__":
    run_job("topics")

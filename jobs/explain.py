"""``spark-submit jobs/explain.py …`` is ``spectral-spark explain …`` on a cluster; ``--help`` explains it."""

from spectral_spark.cli.run import run_job

if __name__ == "__main__":
    run_job("explain")

"""``spark-submit jobs/answers.py …`` is ``spectral-spark answers …`` on a cluster; ``--help`` answerss it."""

from spectral_spark.cli.run import run_job

if __name__ == "__main__":
    run_job("answers")

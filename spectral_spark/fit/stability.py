"""How likely each topic is to come back from another seed, from how far it drifted while it was sampled.

A topic that still moved between three fifths of the sweeps and their end is one that the documents do not pin down:
another seed ends elsewhere. How fast topics drift at all depends on the corpus, so the drift of a topic counts relative
to the model's median, within limits. The curve was fitted to what really came back (``benchmarks/stability.py``).
"""

from dataclasses import replace

import numpy as np

from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fitted_topics import Topics

SAME_TOPIC = 0.3                           # half the L1 distance below which two topics are the same
LEVEL, SLOPE = 0.5, -5.5                   # of the logit, at the reference drift and per unit of log drift
LEAST_REFERENCE, LARGEST_REFERENCE = 0.1, 0.25
_SMALLEST = 1e-4


def return_probability(drift: np.ndarray) -> np.ndarray:
    """The probability that each topic comes back from another seed.

    Parameters
    ----------
    drift : array of shape (k,), half the L1 distance that each topic moved over the last sweeps.
    """
    reference = np.clip(np.median(drift), LEAST_REFERENCE, LARGEST_REFERENCE)
    logit = LEVEL + SLOPE * np.log(np.maximum(drift, _SMALLEST) / reference)
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logit, -30.0, 30.0))))


def with_stability(topics: Topics, run: FitRun) -> Topics:
    """The refined topics with their stability, where they were sampled long enough to tell."""
    if run.drift is None or np.isnan(run.drift).any():
        return topics
    died = set(topics.report.get("dropped_topics", ()))
    alive = np.array([topic for topic in range(len(run.drift)) if topic not in died], np.int64)
    if len(alive) != topics.topics.shape[1]:
        return topics
    report = {**topics.report, "median_drift": round(float(np.median(run.drift)), 6)}
    return replace(topics, report=report, stability=return_probability(run.drift)[alive])

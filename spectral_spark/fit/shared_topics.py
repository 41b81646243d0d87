"""Solved topics that several seeds want: each of the seeds starts with a part.

Two themes that the documents often mix can be one solved topic. One of the seeds gets it, and the other would have to
start from a topic about something else, where the weak pull of a few words does not change much. So the topic is
divided: every seed takes the words that only it was given, and an equal part of all others. What the second seed would
have started from goes back to the topics without seeds, of which the two most similar are merged to make room.
"""

from dataclasses import replace

import numpy as np

from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.refine.seed_prior import SeedPrior
from spectral_spark.refine.topic_merging import merge_labels, merged


def divide_shared(topics: Topics, prior: SeedPrior) -> Topics:
    """Topics whose first columns are those of the seeds, with topics that several of these want divided among them."""
    joint, nodes, seeded = topics.topics * topics.weights, topics.node_proportions, prior.topics
    shared = prior.sharing(joint) if joint.shape[1] > seeded else {}
    if not shared:
        return topics
    freed = [seed for seeds in shared.values() for seed in seeds]
    rest = [*freed, *range(seeded, joint.shape[1])]
    labels = merge_labels(joint[:, rest], joint.shape[1] - seeded)
    words = np.hstack([joint[:, :seeded], merged(joint[:, rest], labels)])
    shares = np.hstack([nodes[:, :seeded], merged(nodes[:, rest], labels)])
    for holder, seeds in shared.items():
        members = [holder, *seeds]
        parts = _parts(prior.pull[:, members])
        words[:, members] = joint[:, [holder]] * parts
        shares[:, members] = nodes[:, [holder]] * (words[:, members].sum(axis=0) / max(joint[:, holder].sum(), 1e-300))
    weights = words.sum(axis=0)
    return replace(topics, topics=words / np.maximum(weights, 1e-300), weights=weights, node_proportions=shares)


def _parts(pull: np.ndarray) -> np.ndarray:
    """What every seed takes of every word, array of shape (d, seeds), rows sum to one."""
    given = pull > 0
    only = given & (given.sum(axis=1, keepdims=True) == 1)
    return np.where(only.any(axis=1, keepdims=True), only, 1.0 / pull.shape[1])

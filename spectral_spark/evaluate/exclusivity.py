"""Do the topics' top words belong to them alone?"""

import numpy as np

from spectral_spark.evaluate.coherence import top_words


def topic_exclusivity(topics: np.ndarray, count: int = 10) -> np.ndarray:
    """For every topic, the mean over its top words of φ in the topic divided by the sum of φ over all topics.

    Parameters
    ----------
    topics : array of shape (d, k), columns sum to one.

    Returns
    -------
    array of shape (k,): 1 when the top words occur in no other topic, about 1 / k when they say nothing.
    """
    words = top_words(topics, count)
    own = topics[words, np.arange(topics.shape[1])[:, None]]
    everywhere = topics[words].sum(axis=2)
    return np.asarray((own / np.maximum(everywhere, 1e-300)).mean(axis=1))

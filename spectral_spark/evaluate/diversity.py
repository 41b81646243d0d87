"""Do the topics differ from each other?"""

import numpy as np

from spectral_spark.evaluate.coherence import top_words


def topic_diversity(topics: np.ndarray, count: int = 25) -> float:
    """Share of distinct words among the top ``count`` words of all topics: 1 when no word is shared.

    Parameters
    ----------
    topics : array of shape (d, k).
    """
    words = top_words(topics, count)
    return len(np.unique(words)) / words.size

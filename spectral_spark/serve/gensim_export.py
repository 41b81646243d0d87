"""A model as a ``gensim.models.LdaModel``, for programs that are built on gensim."""

from typing import TYPE_CHECKING

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.files.model_files import TopicModelFiles

if TYPE_CHECKING:
    from gensim.models import LdaModel


def gensim_model(files: TopicModelFiles) -> "LdaModel":
    """An ``LdaModel`` with the model's words, its topics, and the root's proportions as prior of the documents.

    gensim keeps topics as pseudo-counts: each topic's probabilities times the words that the corpus has of it. Its
    ``get_topics()`` are therefore our topics up to gensim's single precision.
    """
    try:
        from gensim.corpora import Dictionary
        from gensim.models import LdaModel
    except ImportError:
        raise InputError("to_gensim needs gensim: pip install gensim") from None
    if files.vocabulary is None:
        raise InputError("to_gensim: the model was saved without its words")
    words = Dictionary()
    words.token2id = {word: number for number, word in enumerate(files.vocabulary)}
    words.id2token = dict(enumerate(files.vocabulary))
    concentration = float(files.summary.get("document_concentration") or 1.0)
    alpha = (concentration * files.nodes.proportions[0]).astype(np.float32)
    model = LdaModel(id2word=words, num_topics=files.topics.shape[1], alpha=alpha, eta=1.0 / len(files.vocabulary))
    tokens = float(files.summary.get("tokens") or 1.0)
    model.state.sstats = (files.topics * files.weights * tokens).T.astype(np.float32)
    model.state.eta = np.zeros_like(model.eta)
    model.sync_state()
    return model

"""Documents come in: readers, tokens, vocabulary, the corpus on disk."""

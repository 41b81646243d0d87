"""Text becomes words: the tokeniser, its stop words, and the recipe that a model keeps of them. Needs no Spark."""

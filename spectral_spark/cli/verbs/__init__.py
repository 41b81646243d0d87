"""One module per verb; each has a ``VERB``. A new module here is a new verb, nothing else needs to know of it."""

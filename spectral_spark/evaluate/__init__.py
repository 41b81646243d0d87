"""How good it is: document completion, coherence, recovery error."""

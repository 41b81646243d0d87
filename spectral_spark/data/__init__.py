"""What flows: batches of documents, the kernel protocol, and what every layer shares. NumPy only."""

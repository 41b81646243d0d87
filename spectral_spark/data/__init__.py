"""The data that flows between layers: batches of documents, the kernel protocol, seeded hashing. NumPy only."""

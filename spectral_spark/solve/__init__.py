"""What is found: whitening, rank, tensor solvers, reconstruction. NumPy only."""

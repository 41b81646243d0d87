"""The other model: moments and solve for binary, isFA and iICA features. NumPy only."""

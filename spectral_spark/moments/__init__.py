"""What is counted: leaf moments in a basis, the additive state, HDP coefficients. NumPy only."""

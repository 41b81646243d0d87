"""What is polished: incremental EM kernels, node priors, concentrations. NumPy only."""

"""The hot loops in NumPy: one module per family of kernels, the readable meaning."""

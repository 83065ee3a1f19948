"""Inference on plain arrays; knows nothing of scikit-learn."""

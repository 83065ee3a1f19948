"""Local models: what is learnt in the cells of a partition, beside it."""

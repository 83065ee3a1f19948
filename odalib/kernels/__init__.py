"""The few hot loops of the suite.

``reference`` holds the readable NumPy meaning of every kernel. ``annealing`` hands out
those that serve: compiled ones, of the same signatures and held to the reference by
tests, where odalib was installed with a compiler at hand.
"""

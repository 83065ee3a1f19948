"""The few hot loops of the suite.

``reference`` holds the readable NumPy meaning of every kernel; whatever else
serves a kernel later has the same signature and is held to it by tests.
"""

"""The few hot loops of the suite, in families of one file name.

======================  ==============================================================
``FAMILY.py``           Hands out what serves: compiled kernels for what they take,
                        where odalib was installed with a compiler at hand, and NumPy
                        for all else.
``reference/FAMILY.py`` The readable meaning of every kernel in NumPy, which tests hold
                        the compiled ones to.
``_FAMILY.pyx``         Compiled kernels of the same signatures.
``*_core.h``            Their loops in C, over vectors of ``vector.h``.
======================  ==============================================================

Families are ``annealing`` (association, nearest codevectors, codebooks that follow
rows, hashes of rows), ``association`` (predictions), ``adf``, ``propagation`` (blocks
of sites) and ``pairwise`` (messages, Gibbs sweeps).
"""

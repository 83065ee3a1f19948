"""Compiled kernels; all else is in pyproject.toml."""

import sys

from setuptools import Extension, setup

# Errno and traps of floating point are nobody's here, and keep loops from vectors.
FLAGS = (
    ["/O2"]
    if sys.platform == "win32"
    else ["-O3", "-fno-math-errno", "-fno-trapping-math"]
)

setup(
    ext_modules=[
        Extension(
            f"odalib.kernels._{family}",
            [f"odalib/kernels/_{family}.pyx"],
            depends=["odalib/kernels/vector.h", f"odalib/kernels/{family}_core.h"],
            extra_compile_args=FLAGS,
            # Without a compiler, the kernels in NumPy serve.
            optional=True,
        )
        for family in ("annealing",)
    ]
)

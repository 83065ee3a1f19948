"""Compiled kernels; all else is in pyproject.toml."""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

# Errno and traps of floating point are nobody's here, and keep loops from vectors; sums
# may be in any order where a loop says so.
FLAGS = (
    ["/O2"]
    if sys.platform == "win32"
    else [
        "-O3",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fopenmp-simd",
        # Vectors are passed between functions of one file only.
        "-Wno-psabi",
    ]
)

KERNELS = Path("odalib/kernels")

setup(
    # Compilers are programs of their own: families are compiled side by side.
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=[
        Extension(
            f"odalib.kernels.{source.stem}",
            [source.as_posix()],
            depends=sorted(map(str, (*KERNELS.glob("*.h"), *KERNELS.glob("*.pxi")))),
            extra_compile_args=FLAGS,
            # Without a compiler, the kernels in NumPy serve.
            optional=True,
        )
        for source in sorted(KERNELS.glob("_*.pyx"))
    ],
)

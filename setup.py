"""Compiled kernels; all else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import Extension, setup

# Errno and traps of floating point are nobody's here, and keep loops from vectors.
FLAGS = (
    ["/O2"]
    if sys.platform == "win32"
    else ["-O3", "-fno-math-errno", "-fno-trapping-math"]
)

KERNELS = Path("odalib/kernels")

setup(
    ext_modules=[
        Extension(
            f"odalib.kernels.{source.stem}",
            [source.as_posix()],
            depends=[header.as_posix() for header in sorted(KERNELS.glob("*.h"))],
            extra_compile_args=FLAGS,
            # Without a compiler, the kernels in NumPy serve.
            optional=True,
        )
        for source in sorted(KERNELS.glob("_*.pyx"))
    ]
)

"""Validate the docstrings of all public names with numpydoc.

Prints one line per fault and exits with 1 if there are any. Which checks apply is
said in pyproject.toml, ``[tool.numpydoc_validation]``.
"""

import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from numpydoc.validate import ERROR_MSGS, validate

import odalib
import odalib.distributed
import odalib.inspection
import odalib.streaming

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def applied_checks() -> set[str]:
    """Read the checks from pyproject.toml: 'all' less those that follow it."""
    config = tomllib.loads(PYPROJECT.read_text())["tool"]["numpydoc_validation"]
    _, *left_out = config["checks"]
    return set(ERROR_MSGS) - set(left_out)


def public_objects() -> Iterator[str]:
    """Yield the dotted names of public classes, functions and odalib's own methods."""
    for module in (odalib, odalib.distributed, odalib.inspection, odalib.streaming):
        for name in module.__all__:
            member = getattr(module, name)
            path = f"{module.__name__}.{name}"
            if inspect.isfunction(member):
                yield path
            elif inspect.isclass(member):
                yield path
                yield from (f"{path}.{method}" for method in own_methods(member))


def own_methods(cls: type) -> Iterator[str]:
    """Yield the names of the public methods and properties that odalib defines."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] != "odalib":
            continue
        for name, member in vars(base).items():
            if not name.startswith("_") and is_documented_kind(member):
                yield name


def is_documented_kind(member: object) -> bool:
    """Tell methods and properties from plain class attributes."""
    return isinstance(member, classmethod | staticmethod | property) or callable(member)


def main() -> int:
    """Print the faults and return the exit status."""
    checks = applied_checks()
    faults = [
        f"{name}: {code} {message}"
        for name in sorted(set(public_objects()))
        for code, message in validate(name)["errors"]
        if code in checks
    ]
    print("\n".join(faults) if faults else "all public docstrings are valid")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())

"""Public names that are imported when they are first used."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

__all__ = ["on_first_use"]


def on_first_use(
    module: dict[str, Any], homes: dict[str, str], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Give what a package needs to hand out names that it has not imported.

    Parameters
    ----------
    module : dict
        The ``globals()`` of the package, which defines ``__all__``.
    homes : dict of str to str
        Public names, and the modules that define them.
    submodules : iterable of str, default=()
        Packages inside it.

    Returns
    -------
    __getattr__, __dir__ : callables
        As the language asks them of a module.
    """
    name_of_module = module["__name__"]

    def __getattr__(name: str) -> object:
        if name in homes:
            value = getattr(import_module(homes[name]), name)
            # Kept, so that the next look-up does not come here.
            module[name] = value
            return value
        if name in submodules:
            return import_module(f"{name_of_module}.{name}")
        raise AttributeError(f"module {name_of_module!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*module, *module["__all__"]})

    return __getattr__, __dir__

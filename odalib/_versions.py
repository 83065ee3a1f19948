"""What is installed, for reports of faults."""

import platform
from importlib.metadata import PackageNotFoundError, version

from odalib._release import __version__

_REQUIRED = ("numpy", "scipy", "scikit-learn", "joblib")
_OPTIONAL = ("dask", "matplotlib", "pandas", "polars", "pyarrow")


def show_versions() -> None:
    """Print the versions of Python, odalib and what odalib works with.

    Packages that are optional and absent are shown as ``not installed``. The line
    ``kernels`` tells whether the inner loops are compiled, or NumPy serves
    since odalib was installed where no compiler was. Paste the output into a report of
    a fault.

    Examples
    --------
    >>> import odalib
    >>> odalib.show_versions()
    python        3...
    platform      ...
    odalib        ...
    numpy         ...
    scipy         ...
    scikit-learn  ...
    joblib        ...
    dask          ...
    matplotlib    ...
    pandas        ...
    polars        ...
    pyarrow       ...
    kernels       ...
    """
    from odalib.kernels.compiled import FAMILIES, load

    facts = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "odalib": __version__,
        **{name: _installed_version(name) for name in (*_REQUIRED, *_OPTIONAL)},
        "kernels": "compiled" if all(map(load, FAMILIES)) else "NumPy",
    }
    for name, fact in facts.items():
        print(f"{name:<13} {fact}")


def _installed_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"

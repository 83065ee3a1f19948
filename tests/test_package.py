"""The package as a whole: what importing costs, and which layer may import which."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import odalib

PACKAGE = Path(odalib.__file__).parent
ROOT = PACKAGE.parent

# Every module or folder of the package, from the ground up. A module imports from its
# own layer and from those below; `__init__` hands names out and stands outside.
LAYERS = {
    "_first_use": 0,
    "_release": 0,
    "kernels": 0,
    "inference": 1,
    "estimators": 2,
    "inspection": 3,
    "model_selection": 3,
    "streaming": 3,
    "distributed": 3,
    "__init__": 4,
    "__main__": 5,
    "_versions": 5,
}

INFERENCE_MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for layer in ("inference", "kernels")
    for path in sorted((PACKAGE / layer).rglob("*.py"))
]


# What users import from.
PACKAGES = ["odalib", "odalib.distributed", "odalib.inspection", "odalib.streaming"]


def public_names(package):
    """Names that a package hands out, other packages not among them."""
    names = import_module(package).__all__
    return [
        name for name in names if name[0] != "_" and f"{package}.{name}" not in PACKAGES
    ]


def relative_name(path):
    return str(path.relative_to(PACKAGE))


def loaded_after(statement):
    """Top-level packages that a fresh interpreter holds after the statement."""
    code = (
        f"{statement}\n"
        "import sys\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return set(process.stdout.split())


def imported_modules(path):
    """Absolute dotted names that a file imports, wherever in the file."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *filter(None, [node.module])))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def layer_of(dotted_name):
    """Layer of a name inside odalib; what is no module stands in ``__init__``."""
    _, _, rest = dotted_name.partition(".")
    part = rest.partition(".")[0]
    is_module = (PACKAGE / part).is_dir() or (PACKAGE / f"{part}.py").is_file()
    return LAYERS[part if part and is_module else "__init__"]


def test_importing_the_package_loads_no_dependency():
    heavy = {"numpy", "scipy", "sklearn", "joblib", "matplotlib"}
    assert not heavy & loaded_after("import odalib; odalib.__version__")


def test_clusterer_does_not_load_optional_packages():
    optional = {"matplotlib", "pandas", "polars"}
    # scikit-learn itself may load what is installed.
    allowed = loaded_after("import sklearn.base, sklearn.utils.validation")
    assert not optional & (loaded_after("from odalib import ODAClusterer") - allowed)


@pytest.mark.parametrize("package", PACKAGES)
def test_listing_a_package_loads_nothing_optional(package):
    names = f"import {package}; dir({package}); {package}.__all__"
    optional = {"dask", "distributed", "matplotlib", "polars", "pyarrow", "tqdm"}
    # scikit-learn itself may load what is installed.
    allowed = loaded_after("import sklearn.base, sklearn.utils.validation")
    assert not optional & (loaded_after(names) - allowed)


def test_listing_the_inspection_module_does_not_load_matplotlib():
    assert "matplotlib" not in loaded_after("from odalib.inspection import *")


def test_inference_does_not_load_scikit_learn():
    statement = f"import {', '.join(INFERENCE_MODULES)}"
    assert "sklearn" not in loaded_after(statement)


@pytest.mark.parametrize("name", odalib.__all__)
def test_public_name_resolves(name):
    assert getattr(odalib, name) is getattr(odalib, name)


def test_star_import_gives_the_public_names():
    namespace = {}
    exec("from odalib import *", namespace)
    assert set(odalib.__all__) == set(namespace) - {"__builtins__"}


def test_dir_lists_public_names_before_they_are_loaded():
    code = "import odalib; assert set(odalib.__all__) <= set(dir(odalib))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'odalib' has no attribute 'KMeans'"):
        odalib.KMeans  # noqa: B018


@pytest.mark.parametrize(
    ("package", "name"),
    [(package, name) for package in PACKAGES for name in public_names(package)],
    ids=str,
)
def test_public_name_shows_an_example(package, name):
    member = getattr(import_module(package), name)
    _, heading, example = inspect.getdoc(member).partition("Examples\n--------\n")
    assert heading
    assert name in example


@pytest.mark.parametrize(
    "path",
    sorted(set(PACKAGE.rglob("*.py")) - {PACKAGE / "__init__.py"}),
    ids=relative_name,
)
def test_imports_only_go_down(path):
    own_layer = LAYERS[path.relative_to(PACKAGE).parts[0].removesuffix(".py")]
    inside = [
        name for name in imported_modules(path) if name.partition(".")[0] == "odalib"
    ]
    assert [name for name in inside if layer_of(name) > own_layer] == []


@pytest.mark.parametrize("module", INFERENCE_MODULES)
def test_inference_never_names_scikit_learn(module):
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    outside = {name.partition(".")[0] for name in imported_modules(path)}
    assert "sklearn" not in outside


def test_release_files_name_the_version():
    assert f"\nversion: {odalib.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {odalib.__version__}" in (ROOT / "CHANGELOG.md").read_text()

"""The picture that the demonstration draws where matplotlib is installed."""

import sys
from pathlib import Path

from sklearn.datasets import load_iris

from odalib import ODAClusterer, __main__

README = Path(__file__).parents[1] / "README.md"
ROWS, _ = load_iris(return_X_y=True)


def test_without_matplotlib_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    __main__.draw(ODAClusterer(3, random_state=0).fit(ROWS))
    command = '.venv/bin/pip install -e ".[plot]"'
    assert command in README.read_text()
    assert f"No picture, which needs matplotlib: {command} adds it." in (
        capsys.readouterr().out
    )
    assert list(tmp_path.iterdir()) == []

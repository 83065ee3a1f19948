"""Selection of the number of codevectors."""

from odalib.model_selection.path_search import PathSearchCV

__all__ = ["PathSearchCV"]

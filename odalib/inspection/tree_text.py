"""The tree of an annealing estimator as text."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from odalib.inspection._names import features_of

__all__ = ["export_text"]

INDENT = "  "
# A codevector, or what a model says, of more values is cut to its ends.
MOST_VALUES, ENDS = 8, 3


def export_text(estimator, *, feature_names=None, decimals=2, max_nodes=100):
    """Write the tree of a fitted annealing estimator as text, a line per node.

    A line tells the number of the node in ``tree_``, its status as ``tree_.status``
    has it, the weight of its rows, and its codevector in the features that its
    resolution sees. Of a classifier it tells the class as well; of a regressor, what
    the linear or constant model of a leaf says at the codevector. Children are
    indented below their parent.

    Parameters
    ----------
    estimator : ODAClusterer, ODAClassifier or ODARegressor
        Fitted, with or without resolutions.
    feature_names : array-like of str of shape (n_features,), default=None
        Names of the columns of X. None takes those of the data frame that the
        estimator was fitted to, or ``x0``, ``x1`` and so on. What a function or a
        transformer makes of the columns has no names.
    decimals : int, default=2
        Digits behind the point.
    max_nodes : int, default=100
        Write so many nodes, the coarsest first; below a parent stands how many of its
        children are left out.

    Returns
    -------
    text : str
        Without an end of line after the last.

    Raises
    ------
    TypeError
        For an estimator that has no tree, and for numbers that are not integers.
    ValueError
        For another number of names than features, or one name in place of a list.

    See Also
    --------
    AnnealingPathDisplay : How codevectors split as the temperature fell.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odalib import ODAClusterer
    >>> from odalib.inspection import export_text
    >>> X = load_iris(as_frame=True).data
    >>> petals = ["petal length (cm)", "petal width (cm)"]
    >>> clusterer = ODAClusterer(3, resolutions=[petals[:1], petals], random_state=0)
    >>> print(export_text(clusterer.fit(X)))
    0 root, 150 rows
      1 open, 99 rows: petal length (cm) 4.93
        4 leaf, 55 rows: petal length (cm) 4.34, petal width (cm) 1.37
        5 leaf, 44 rows: petal length (cm) 5.65, petal width (cm) 2.07
      2 closed, 51 rows: petal length (cm) 1.49
        3 leaf, 51 rows: petal length (cm) 1.49, petal width (cm) 0.26
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, "tree_"):
        raise TypeError(
            "export_text needs an estimator with tree_, such as ODAClusterer; "
            f"{type(estimator).__name__} has none. Of a pipeline, give the last step."
        )
    _check_count("decimals", decimals, 0)
    _check_count("max_nodes", max_nodes, 1)
    tree = estimator.tree_
    names = list(_names_by_level(estimator, feature_names))
    remarks = _class_remarks(estimator) or _value_remarks(estimator, decimals)
    texts = []
    for node in range(min(max_nodes, tree.n_nodes)):
        rows = np.format_float_positional(tree.n_samples[node], decimals, trim="-")
        text = f"{node} {tree.status(node)}, {rows} {'row' if rows == '1' else 'rows'}"
        if node > 0:
            level = tree.level[node] - 1
            point = tree.codevectors[level][node - tree.first_nodes[level]]
            text += f"{remarks.get(node, '')}: {_values(point, names[level], decimals)}"
        texts.append(text)
    return "\n".join(_indented(tree, texts))


def _check_count(name, value, least):
    """Refuse what is not an integer, or is less than the least."""
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    check_scalar(value, name, Integral, min_val=least)


def _indented(tree, texts, node=0, depth=0):
    """Lines of a node and of those below it that have a text."""
    yield INDENT * depth + texts[node]
    children = tree.children(node)
    shown = children[children < len(texts)]
    for child in shown:
        yield from _indented(tree, texts, child, depth + 1)
    if len(shown) < len(children):
        yield f"{INDENT * (depth + 1)}... {len(children) - len(shown)} more"


def _names_by_level(estimator, feature_names):
    """Names of the features that each resolution sees, or None where it has none."""
    names = np.array(
        [_on_one_line(name) for name in features_of(estimator, feature_names)]
    )
    # Those of the fit, whatever the parameter has been set to since.
    for level in estimator._state.model.tree.levels:
        features = level.settings.features
        if features is None:
            yield names
        else:
            yield None if features.columns is None else names[features.columns]


def _class_remarks(estimator):
    """Class of every node of a classifier."""
    classes = estimator.tree_.classes
    if classes is None:
        return {}
    labels = np.concatenate(classes)
    return {
        node: f", class {_on_one_line(label)}"
        for node, label in enumerate(labels, start=1)
    }


def _value_remarks(estimator, decimals):
    """Tell what the models of a regressor say at their leaves, if not learners."""
    tree = estimator.tree_
    if not hasattr(estimator, "local_coef_"):
        return {}
    leaves, slopes = tree.codevectors[-1], estimator.local_coef_
    values = estimator.local_intercept_ + np.einsum("kd,kd...->k...", leaves, slopes)
    return {
        tree.first_nodes[-1] + leaf: f", y {_target(value, decimals)}"
        for leaf, value in enumerate(values)
    }


def _target(value, decimals):
    """Write the value of one target, or those of several in brackets."""
    if value.ndim == 0:
        return _number(value, decimals)
    values = [_number(one, decimals) for one in value]
    return f"[{' '.join(_shortened(values))}]"


def _values(point, names, decimals):
    """Write a codevector, by name where its features have names."""
    values = [_number(value, decimals) for value in point]
    if names is not None:
        values = [f"{name} {value}" for name, value in zip(names, values, strict=True)]
    return ", ".join(_shortened(values))


def _shortened(values):
    """Texts, or the ends of many."""
    if len(values) > MOST_VALUES:
        return [*values[:ENDS], "...", *values[-ENDS:]]
    return values


def _number(value, decimals):
    """Write a number, a zero without a sign."""
    return f"{value:z.{decimals}f}"


def _on_one_line(text):
    """Write a name or a label, what breaks lines as an escape."""
    text = str(text)
    return text if text.isprintable() else repr(text)[1:-1]

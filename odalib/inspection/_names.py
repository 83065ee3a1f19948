"""Names of features and classes, as pictures write them."""

from numbers import Integral

__all__ = ["columns_of", "features_of", "on_picture"]


def on_picture(name):
    """Name as matplotlib writes it, without formulas between dollar signs."""
    return str(name).replace("$", r"\$")


def features_of(estimator, feature_names=None):
    """Names of the features, those of the fit or ``x0``, ``x1``, ...; list of str.

    Raises
    ------
    ValueError
        For another number of names than of features, and one name for a list.
    """
    n_features = estimator.n_features_in_
    if feature_names is None:
        default = [f"x{column}" for column in range(n_features)]
        feature_names = getattr(estimator, "feature_names_in_", default)
    if isinstance(feature_names, str):
        raise ValueError(
            f"feature_names={feature_names!r} is one name; give a list of one for each "
            f"of the {n_features} features."
        )
    if len(feature_names) != n_features:
        raise ValueError(
            f"feature_names holds {len(feature_names)} names, and X has {n_features} "
            "features."
        )
    return [str(name) for name in feature_names]


def columns_of(features, names):
    """Columns of features by their numbers or names, of one or of several; a list.

    Raises
    ------
    ValueError
        For a feature that there is not.
    """
    if isinstance(features, str | Integral):
        features = [features]
    return [_column_of(feature, names) for feature in features]


def _column_of(feature, names):
    """Column of a feature by its number or name.

    Raises
    ------
    ValueError
        For a feature that there is not.
    """
    if isinstance(feature, str):
        if feature in names:
            return names.index(feature)
        raise ValueError(
            f"There is no feature {feature!r}; there are {', '.join(names[:10])}"
            f"{', ...' if len(names) > 10 else ''}."
        )
    is_number = isinstance(feature, Integral) and not isinstance(feature, bool)
    if not (is_number and 0 <= feature < len(names)):
        raise ValueError(
            f"There is no feature {feature!r}; X has columns 0 to {len(names) - 1}."
        )
    return int(feature)

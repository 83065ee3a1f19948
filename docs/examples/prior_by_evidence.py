"""
A prior without cross-validation
================================

Let the evidence choose the prior variance of the weights, and look at what they say.

The tumours of scikit-learn's breast cancer data have thirty measurements. The log
evidence, which one fit gives, tells how probable the labels are under a prior;
five-fold cross-validation is drawn below it. ``prior_variance="evidence"`` takes its
maximum, and ``"ard"`` takes a prior variance for each feature; both choose that of the
intercept as well, which is why the log evidence rises further::

    python docs/examples/prior_by_evidence.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import scale

from odalib import EPProbitClassifier
from odalib.inspection import EvidenceDisplay, PosteriorDisplay

VARIANCES = np.geomspace(1e-3, 1e2, 11)
# A feature of a smaller prior variance has next to no part in the predictions.
UNUSED = 1e-3


def held_out(X, y):
    """Mean log probability of held-out labels, for each prior variance."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return np.array(
        [
            cross_val_score(
                EPProbitClassifier(variance), X, y, scoring="neg_log_loss", cv=folds
            ).mean()
            for variance in VARIANCES
        ]
    )


def draw(model, X, y, feature_names, scores):
    """Draw the evidence over the cross-validation, and the weights beside them."""
    figure = plt.figure(figsize=(9.5, 5.0), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    evidence = figure.add_subplot(grid[0, 0])
    EvidenceDisplay.from_estimator(model, X, y, prior_variances=VARIANCES, ax=evidence)
    validation = figure.add_subplot(grid[1, 0], sharex=evidence)
    validation.plot(VARIANCES, scores, color="#1b3a5c", marker="o", markersize=3)
    best = np.argmax(scores)
    validation.plot(VARIANCES[best], scores[best], "D", color="#e0701a")
    validation.set(xlabel="prior variance of the weights", ylabel="held-out log prob.")
    evidence.set_xlabel("")
    weights = figure.add_subplot(grid[:, 1])
    PosteriorDisplay.from_estimator(
        model, feature_names=feature_names, max_features=12, ax=weights
    )
    return figure


def main():
    """Print what each way of choosing finds, and draw evidence and weights."""
    cancer = load_breast_cancer()
    X, y = scale(cancer.data), cancer.target_names[cancer.target]
    scores = held_out(X, y)
    model = EPProbitClassifier("evidence").fit(X, y)
    each = EPProbitClassifier("ard").fit(X, y)
    chosen = {
        "cross-validation": EPProbitClassifier(VARIANCES[np.argmax(scores)]).fit(X, y),
        "evidence": model,
        "ard": each,
    }
    print("prior variance by    its median  log evidence  accuracy, leaving one out")
    for name, fitted in chosen.items():
        variance = np.median(fitted.prior_variance_)
        right = (model.classes_[fitted.loo_predict_proba().argmax(axis=1)] == y).mean()
        print(
            f"{name:19s}  {variance:10.3g}  {fitted.log_evidence_[0]:12.1f}  "
            f"{right:25.3f}"
        )
    n_used = int((np.ravel(each.prior_variance_) > UNUSED).sum())
    print(
        f"\nBy 'ard' {n_used} of {X.shape[1]} features have a prior variance above "
        f"{UNUSED}."
    )
    draw(model, X, y, cancer.feature_names, scores)
    plt.show()


if __name__ == "__main__":
    main()

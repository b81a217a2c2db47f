"""The scikit-learn classifier inside a `ConsensusClassifier`: fitted, asked, and asked about items left out."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import check_cv

from quorate.errors import shown
from quorate.types import FloatArray
from quorate.validate import invalid


class Features(Protocol):
    """Rows of features: an array, a sparse matrix or a data frame."""

    shape: tuple[int, ...]

    def __getitem__(self, rows: np.ndarray, /) -> Self: ...


class BaseClassifier(Protocol):
    """What is needed of a scikit-learn classifier: features in, probabilities of `classes_` out."""

    classes_: np.ndarray

    def fit(self, X: Features, y: np.ndarray, /) -> Self:
        """Learn from rows of features and their labels."""

    def predict_proba(self, X: Features, /) -> np.ndarray:
        """Probabilities (T, K) in the order of `classes_`."""


def fit_base(base: BaseClassifier, features: Features, labels: np.ndarray) -> BaseClassifier:
    """A copy of `base`, fitted; scikit-learn's `FrozenEstimator` stays as it is."""
    if not hasattr(base, "predict_proba"):
        fix = "wrap it in scikit-learn's CalibratedClassifierCV."
        raise invalid("estimator", base, "a classifier with predict_proba", fix)
    fitted: BaseClassifier = clone(base).fit(features, labels)
    return fitted


def base_predictions(base: BaseClassifier, features: Features, classes: np.ndarray) -> FloatArray:
    """Probabilities (T, K) in the order of `classes`; 0 for a class that the base classifier has never seen."""
    places = {name: index for index, name in enumerate(classes.tolist())}
    unknown = [name for name in base.classes_.tolist() if name not in places]
    if unknown:
        rule = f"a classifier of the classes {shown(list(places))}, not of {shown(unknown)}"
        raise invalid("estimator", base, rule, "pass all classes it knows as `classes=[...]`.")
    predicted = base.predict_proba(features)
    probs = np.zeros((len(predicted), len(places)))
    probs[:, [places[name] for name in base.classes_.tolist()]] = predicted
    return probs


def unseen_predictions(
    base: BaseClassifier, features: Features, labels: np.ndarray, classes: np.ndarray, cv: object
) -> FloatArray:
    """Each item's probabilities (T, K) by a copy of `base` that was not fitted on it; by a frozen one as it is."""
    if clone(base) is base:
        return base_predictions(base, features, classes)
    probs = np.full((len(labels), len(classes)), np.nan)
    folds = check_cv(cv, labels, classifier=True)
    for seen, unseen in folds.split(features, labels):
        fitted = fit_base(base, rows_of(features, seen), labels[seen])
        probs[unseen] = base_predictions(fitted, rows_of(features, unseen), classes)
    if np.isnan(probs).any():
        raise invalid("cv", cv, "folds in which every item is left out once", "pass a number of folds.")
    return probs


def features_given(given: ArrayLike | Features) -> Features:
    """The features with rows that can be taken: a list as an array, a sparse matrix by rows."""
    converted: Features = given.tocsr() if hasattr(given, "tocsr") else given  # type: ignore[assignment]
    return converted if hasattr(converted, "shape") else np.asarray(converted)


def rows_of(features: Features, rows: np.ndarray) -> Features:
    """Some rows of an array, a sparse matrix or a data frame."""
    selected: Features = getattr(features, "iloc", features)[rows]
    return selected

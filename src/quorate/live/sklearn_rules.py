"""What scikit-learn expects of an estimator: errors its tools know, tags, parameters of parts, a base classifier.

Called by `ConsensusClassifier`. Only what needs a base classifier or is called by scikit-learn imports it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from importlib import import_module
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from quorate.errors import InvalidInput, InvalidPrediction, shown
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


def not_fitted(estimator: object) -> InvalidInput:
    """The error of an estimator that was not fitted; where scikit-learn is in use, its `NotFittedError` too."""
    rule, fix = "a fitted classifier", "call fit(predictions, votes) first."
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    kind = InvalidInput if theirs is None else _joined(theirs)
    return kind(field="self", value=estimator, rule=rule, fix=fix)


@cache
def _joined(theirs: type[Exception]) -> type[InvalidInput]:
    return type("NotFitted", (InvalidInput, theirs), {"__doc__": "The estimator was not fitted."})


def votes_given(votes: ArrayLike | None) -> np.ndarray:
    """The votes as an array; refuses none at all, and numbers that are no labels."""
    if votes is None:
        rule = "counts or labels: fit requires y to be passed, but the target y is None"
        raise invalid("votes", None, rule, "pass the votes.")
    cast = np.asarray(votes)
    if cast.ndim == 2 and cast.shape[1] == 1:
        known = getattr(sys.modules.get("sklearn.exceptions"), "DataConversionWarning", UserWarning)
        said = "A column-vector y was passed when a 1d array was expected: it is read as labels, not as counts."
        warnings.warn(said, known, stacklevel=3)
        cast = cast[:, 0]
    if cast.ndim == 1 and cast.dtype.kind == "f" and (cast != np.floor(cast)).any():
        rule = "labels, or counts (items, classes). Unknown label type: continuous"
        raise invalid("votes", cast.tolist(), rule, "pass class labels.")
    return cast


def predictions_given(predictions: ArrayLike) -> ArrayLike:
    """The predictions as they are; refuses what scikit-learn wants refused in its own words."""
    found = np.asarray(predictions)
    if found.dtype.kind == "c":
        raise invalid(
            "predictions", "complex numbers", "probabilities. Complex data not supported", "pass real numbers."
        )
    if found.ndim in (2, 3) and found.shape[-1] < 2 and len(found):
        columns = f"{found.shape[-1]} feature(s) (shape={found.shape}) while a minimum of 2 is required"
        raise invalid("predictions", columns, "a column per class, at least 2", "pass the probability of every class.")
    if found.dtype.kind in "fi" and found.ndim > 1 and (found < 0).any():
        row = int(np.argmax((found < 0).reshape(len(found), -1).any(axis=1)))
        rule = "probabilities, which are between 0 and 1. Negative values in data passed to ConsensusClassifier"
        fix = "pass probabilities, not scores."
        raise InvalidPrediction(field="predictions", value=found[row].tolist(), rule=rule, fix=fix, place=f"row {row}")
    return predictions


def with_parts(given: Mapping[str, object]) -> dict[str, object]:
    """Parameters with those of the estimators among them, as `estimator__C`."""
    parts = {name: part.get_params() for name, part in given.items() if hasattr(part, "get_params")}
    return dict(given) | {f"{name}__{key}": value for name, part in parts.items() for key, value in part.items()}


def tags(base: BaseClassifier | None) -> object:
    """What scikit-learn 1.6 and later asks an estimator: of a base classifier, or of probabilities as input."""
    utils = import_module("sklearn.utils")
    if base is None:
        inputs = utils.InputTags(positive_only=True, three_d_array=True)
    else:
        inputs = deepcopy(utils.get_tags(base).input_tags)
    return utils.Tags(
        estimator_type="classifier",
        target_tags=utils.TargetTags(required=True),
        classifier_tags=utils.ClassifierTags(),
        input_tags=inputs,
    )


def fit_base(base: BaseClassifier, features: Features, labels: np.ndarray) -> BaseClassifier:
    """A copy of `base`, fitted; scikit-learn's `FrozenEstimator` stays as it is."""
    if not hasattr(base, "predict_proba"):
        fix = "wrap it in scikit-learn's CalibratedClassifierCV."
        raise invalid("estimator", base, "a classifier with predict_proba", fix)
    return _copied(base).fit(features, labels)


def base_predictions(base: BaseClassifier, features: Features, classes: np.ndarray) -> FloatArray:
    """Probabilities (T, K) in the order of `classes`; 0 for a class that the base classifier has never seen."""
    places = {name: place for place, name in enumerate(classes.tolist())}
    unknown = [name for name in base.classes_.tolist() if name not in places]
    if unknown:
        rule = f"a classifier of the classes {shown(list(places))}, not of {shown(unknown)}"
        raise invalid("estimator", base, rule, "pass all classes it knows as `classes=[...]`.")
    found = base.predict_proba(features)
    probs = np.zeros((len(found), len(places)))
    probs[:, [places[name] for name in base.classes_.tolist()]] = found
    return probs


def unseen_predictions(
    base: BaseClassifier, features: Features, labels: np.ndarray, classes: np.ndarray, cv: object
) -> FloatArray:
    """Each item's probabilities (T, K) by a copy of `base` that was not fitted on it; by a frozen one as it is."""
    if _copied(base) is base:
        return base_predictions(base, features, classes)
    probs = np.full((len(labels), len(classes)), np.nan)
    folds = import_module("sklearn.model_selection").check_cv(cv, labels, classifier=True)
    for seen, unseen in folds.split(features, labels):
        fitted = fit_base(base, rows_of(features, seen), labels[seen])
        probs[unseen] = base_predictions(fitted, rows_of(features, unseen), classes)
    if np.isnan(probs).any():
        raise invalid("cv", cv, "folds in which every item is left out once", "pass a number of folds.")
    return probs


def features_given(given: ArrayLike | Features) -> Features:
    """The features with rows that can be taken: a list as an array, a sparse matrix by rows."""
    found: Features = given.tocsr() if hasattr(given, "tocsr") else given  # type: ignore[assignment]
    return found if hasattr(found, "shape") else np.asarray(found)


def rows_of(features: Features, rows: np.ndarray) -> Features:
    """Some rows of an array, a sparse matrix or a data frame."""
    found: Features = getattr(features, "iloc", features)[rows]
    return found


def _copied(base: BaseClassifier) -> BaseClassifier:
    copied: BaseClassifier = import_module("sklearn.base").clone(base)
    return copied

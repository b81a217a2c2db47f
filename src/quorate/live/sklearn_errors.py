"""Errors with the types and phrases that scikit-learn's tools expect of an estimator, without importing it.

Called by `ConsensusClassifier`. They are quorate's errors, with field, value, rule and fix.
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from quorate.errors import InvalidInput, InvalidPrediction
from quorate.validate import broken


def not_fitted(estimator: object) -> InvalidInput:
    """The error for an estimator that was not fitted; if scikit-learn is imported, also a `NotFittedError`."""
    rule, fix = "a fitted classifier", "call fit(predictions, votes) first."
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    kind = InvalidInput if theirs is None else _joined(theirs)
    return kind(field="self", value=estimator, rule=rule, fix=fix)


@cache
def _joined(theirs: type[Exception]) -> type[InvalidInput]:
    return type("NotFitted", (InvalidInput, theirs), {"__doc__": "The estimator was not fitted."})


def votes_given(votes: ArrayLike | None) -> np.ndarray:
    """The votes as an array; refuses None, and numbers that are not labels."""
    if votes is None:
        rule = "counts or labels: fit requires y to be passed, but the target y is None"
        raise broken("votes", None, rule, "pass the votes.")
    cast = np.asarray(votes)
    if cast.ndim == 1 and cast.dtype.kind == "f" and (cast != np.floor(cast)).any():
        rule = "labels, or counts (items, classes). Unknown label type: continuous"
        raise broken("votes", cast.tolist(), rule, "pass class labels.")
    return cast


def predictions_given(predictions: ArrayLike) -> ArrayLike:
    """The predictions, unchanged; refuses, in scikit-learn's words, what its checks require to be refused."""
    found = np.asarray(predictions)
    if found.dtype.kind == "c":
        raise broken(
            "predictions", "complex numbers", "probabilities. Complex data not supported", "pass real numbers."
        )
    if found.ndim in (2, 3) and found.shape[-1] < 2 and len(found):
        columns = f"{found.shape[-1]} feature(s) (shape={found.shape}) while a minimum of 2 is required"
        raise broken("predictions", columns, "a column per class, at least 2", "pass the probability of every class.")
    if found.dtype.kind in "fi" and found.ndim > 1 and (found < 0).any():
        row = int(np.argmax((found < 0).reshape(len(found), -1).any(axis=1)))
        rule = "probabilities, which are between 0 and 1. Negative values in data passed to ConsensusClassifier"
        fix = "pass probabilities, not scores."
        raise InvalidPrediction(field="predictions", value=found[row].tolist(), rule=rule, fix=fix, place=f"row {row}")
    return predictions

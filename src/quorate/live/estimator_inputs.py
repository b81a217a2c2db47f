"""What is handed to the estimator -> arrays: probabilities, class names and vote counts. Checked here, at its door.

Called by `estimator.py` only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.errors import InvalidInput
from quorate.types import FloatArray, IntArray
from quorate.validate import counts, probabilities, shown


def checked_predictions(predictions: Any) -> FloatArray:  # noqa: ANN401
    """Probabilities (T, K), or (T, M, K) for M classifiers."""
    probs = probabilities(predictions, where="predictions")
    if probs.ndim not in (2, 3) or len(probs) == 0:
        raise InvalidInput(
            f"predictions has shape {probs.shape}; expected (items, classes), or (items, classifiers, classes), "
            "and at least one item; pass a list of one row for one item."
        )
    return probs


def class_array(given: Any, votes: np.ndarray, num_classes: int) -> np.ndarray:  # noqa: ANN401
    """The classes in the order of the probabilities: as given, else of the labels in `votes`, else 0 .. K-1."""
    found = np.unique(votes) if votes.ndim == 1 else np.arange(num_classes)
    names = found if given is None else np.asarray(given)
    if names.shape != (num_classes,) or len(set(names.tolist())) != num_classes:
        raise InvalidInput(
            f"classes={shown(names.tolist())} for predictions of {num_classes} classes; expected as many different "
            "names, in the order of the probabilities. Pass classes=[...]."
        )
    return names


def vote_counts(votes: np.ndarray, classes: np.ndarray, num_items: int) -> IntArray:
    """Counts (T, K), from counts or from one label for each item.

    >>> vote_counts(np.array(["dog", "cat"]), np.array(["cat", "dog"]), 2).tolist()
    [[0, 1], [1, 0]]
    """
    tally = _from_labels(votes, classes) if votes.ndim == 1 else counts(votes)
    if tally.shape != (num_items, len(classes)):
        raise InvalidInput(
            f"votes has shape {votes.shape}; expected counts ({num_items}, {len(classes)}), one per item and class, or "
            f"{num_items} labels; pass as many rows as there are predictions."
        )
    return tally


def _from_labels(votes: np.ndarray, classes: np.ndarray) -> IntArray:
    places = {name: place for place, name in enumerate(classes.tolist())}
    tally = np.zeros((len(votes), len(classes)), dtype=np.int64)
    for row, label in enumerate(votes.tolist()):
        if label not in places:
            raise InvalidInput(f"votes contains {shown(label)}; expected one of {shown(list(places))}; pass its name.")
        tally[row, places[label]] = 1
    return tally

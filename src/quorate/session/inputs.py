"""Checks and converts the arguments of a session's calls, before anything changes.

A prediction may be a vector of probabilities, a mapping by class name, a hard label, a single score, or None; with
several classifiers, a list of these.
"""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence

import numpy as np

from quorate.errors import InvalidInput, InvalidPrediction, UnknownClass
from quorate.types import FloatArray, PredictionValue
from quorate.validate import bounded, floored, fraction, invalid, probabilities

HARD_LABEL_CONFIDENCE = 0.9  # probability given to a hard label; tau learns how far to trust it


def parse_prediction(
    raw: PredictionValue, classes: Sequence[str], num_classifiers: int, *, item: str | None = None
) -> FloatArray:
    """The prediction(s) of all classifiers as probabilities (M, K), floored and summing to 1.

    None            no classifier: the same probability for every class
    "cat"           a hard label: 0.9 for it, the rest shared by the other classes
    {"cat": 0.8}    by class name; the rest up to 1 is shared by the classes not named; with every class named the
                    values must sum to 1
    0.8             two classes only: the probability of the SECOND class, as in scikit-learn
    [0.8, 0.1, 0.1] probabilities in the order of `classes`
    With several classifiers: a list with one of these for each. `item` is named in errors.
    """
    try:
        if num_classifiers > 1:
            return _several(raw, classes, num_classifiers)
        if isinstance(raw, np.ndarray) and raw.ndim == 2 and len(raw) == 1:
            raw = raw[0]
        return _one(raw, classes)[None]
    except InvalidInput as problem:
        if item is not None:
            problem.place = f"item {item!r}" + (f", {problem.place}" if problem.place else "")
        raise


def _several(raw: object, classes: Sequence[str], num_classifiers: int) -> FloatArray:
    if raw is None:
        raw = [None] * num_classifiers
    if not isinstance(raw, (list, tuple)):  # an array of any library; a list may contain names and mappings
        array = np.asarray(raw)
        raw = list(array) if array.ndim else raw
    if not isinstance(raw, (list, tuple)) or len(raw) != num_classifiers:
        rule = f"a list of {num_classifiers} predictions, one per classifier"
        raise invalid("prediction", raw, rule, "pass one for each, or None if missing.", error=InvalidPrediction)
    rows = []
    for number, row in enumerate(raw):
        try:
            rows.append(_one(row, classes))
        except InvalidInput as problem:
            problem.place = f"classifier {number}" + (f", {problem.place}" if problem.place else "")
            raise
    return np.stack(rows)


def _one(raw: object, classes: Sequence[str]) -> FloatArray:
    num_classes = len(classes)
    if raw is None:
        return np.full(num_classes, 1.0 / num_classes)
    if isinstance(raw, str):
        return _spread({raw: HARD_LABEL_CONFIDENCE}, classes)
    if isinstance(raw, Mapping):
        return _spread(raw, classes)
    if isinstance(raw, (float, int, np.number)):
        return _score(raw, classes)
    vector = probabilities(raw)
    if vector.shape != (num_classes,):
        rule = f"{num_classes} probabilities: one for each of {list(classes)!r}"
        raise invalid("prediction", raw, rule, "pass one for each class.", error=InvalidPrediction)
    return vector


def _score(raw: object, classes: Sequence[str]) -> FloatArray:
    if len(classes) != 2:
        fix = f"name the class of the score, e.g. {{{classes[0]!r}: {raw!r}}}."
        rule = f"more than a single number for {len(classes)} classes"
        raise invalid("prediction", raw, rule, fix, error=InvalidPrediction)
    score = _share(raw)
    return floored(np.array([1.0 - score, score]))


def _spread(named: Mapping[str, object], classes: Sequence[str]) -> FloatArray:
    vector = np.full(len(classes), np.nan)
    for name, value in named.items():
        vector[class_number(name, classes, where="prediction")] = _share(value, place=f"class {name!r}")
    unnamed = np.isnan(vector)
    if unnamed.any():
        vector[unnamed] = max(1.0 - np.nansum(vector), 0.0) / unnamed.sum()
    return probabilities(vector)


def _share(value: object, *, place: str | None = None) -> float:
    """A probability, or an error."""
    if isinstance(value, (float, int, np.number)) and value < 0:
        rule, fix = "a probability, which is between 0 and 1", "apply softmax if these are scores."
        raise invalid("prediction", value, rule, fix, place=place, error=InvalidPrediction)
    try:
        return fraction(value, where="prediction", error=InvalidPrediction)
    except InvalidPrediction as problem:
        problem.place = place
        raise


def class_number(label: object, classes: Sequence[str], *, where: str = "label") -> int:
    """The class's number; the name must be exactly one of `classes`."""
    if isinstance(label, str) and label in classes:
        return classes.index(label)
    names = ", ".join([*classes[:12], *(["..."] if len(classes) > 12 else [])])
    rule, fix = "a class of the project or session, as text", f"Use one of: {names}."
    raise invalid(where, label, rule, fix, error=UnknownClass)


def checked_id(value: object, *, where: str) -> str:
    """A non-empty string; only strings are accepted as ids, so that 7 and '7' cannot be two items."""
    if not isinstance(value, str) or not value:
        raise invalid(where, value, "a non-empty string", "use str(...) on numeric ids.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid(where, value, "valid Unicode text", "remove the lone surrogate.") from None
    return value


def checked_time(value: float | None) -> float:
    """Seconds since the epoch; now if None."""
    return clock.time() if value is None else bounded(value, where="time", least=-1e12, most=1e12)

"""What users hand to a session -> what the session works with. Everything is checked here, before anything changes.

A prediction may be a vector of probabilities, a mapping by class name, a hard label, a single score, or nothing at
all; several classifiers give a list of these.
"""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quorate.errors import InvalidPrediction, UnknownClass
from quorate.types import FloatArray
from quorate.validate import bounded, broken, floored, fraction, probabilities, shown

HARD_LABEL_CONFIDENCE = 0.9  # a bare label is taken as 90 % sure; how far that is true is what tau learns


def parse_prediction(raw: Any, classes: Sequence[str], num_classifiers: int, *, item: str) -> FloatArray:  # noqa: ANN401
    """The prediction(s) of all classifiers as probabilities (M, K), floored and summing to 1.

    None            no classifier: every class alike
    "cat"           a hard label: 0.9 for it, the rest shared
    {"cat": 0.8}    by class name; what is missing from 1 is shared by the classes not named; with every class named
                    it is a vector, and as a vector must sum to 1
    0.8             two classes only: the probability of the SECOND class, as classifiers give it
    [0.8, 0.1, 0.1] probabilities in the order of `classes`
    With several classifiers: a list with one of these for each.
    """
    where = f"prediction for item {item!r}"
    if num_classifiers == 1:
        if isinstance(raw, np.ndarray) and raw.ndim == 2 and len(raw) == 1:
            raw = raw[0]
        return _one(raw, classes, where)[None]
    if raw is None:
        raw = [None] * num_classifiers
    if not (isinstance(raw, (list, tuple)) or np.ndim(raw) > 0) or len(raw) != num_classifiers:
        rule = f"a list of {num_classifiers} predictions, one per classifier"
        raise broken(where, raw, rule, "pass one for each, None where there is none.", error=InvalidPrediction)
    return np.stack([_one(each, classes, f"{where}, classifier {m}") for m, each in enumerate(raw)])


def _one(raw: Any, classes: Sequence[str], where: str) -> FloatArray:  # noqa: ANN401
    num_classes = len(classes)
    if raw is None:
        return np.full(num_classes, 1.0 / num_classes)
    if isinstance(raw, str):
        return _spread({raw: HARD_LABEL_CONFIDENCE}, classes, where)
    if isinstance(raw, Mapping):
        return _spread(raw, classes, where)
    if isinstance(raw, (float, int, np.number)):
        return _score(raw, classes, where)
    vector = probabilities(raw, where=where)
    if vector.shape != (num_classes,):
        rule = f"{num_classes} probabilities: one for each of {list(classes)!r}"
        raise broken(where, raw, rule, "pass one for each class.", error=InvalidPrediction)
    return vector


def _score(raw: Any, classes: Sequence[str], where: str) -> FloatArray:  # noqa: ANN401
    if len(classes) != 2:
        fix = f"say whose score it is, e.g. {{{classes[0]!r}: {raw!r}}}."
        rule = f"more than a single number for {len(classes)} classes"
        raise broken(where, raw, rule, fix, error=InvalidPrediction)
    score = _share(raw, where=where)
    return floored(np.array([1.0 - score, score]))


def _spread(named: Mapping[str, float], classes: Sequence[str], where: str) -> FloatArray:
    vector = np.full(len(classes), np.nan)
    for name, value in named.items():
        vector[class_number(name, classes, where=where)] = _share(value, where=f"{where}[{name!r}]")
    unnamed = np.isnan(vector)
    if unnamed.any():
        vector[unnamed] = max(1.0 - np.nansum(vector), 0.0) / unnamed.sum()
    return probabilities(vector, where=where)


def _share(value: Any, *, where: str) -> float:  # noqa: ANN401
    """A probability; of one below 0 it is said what it should be."""
    if isinstance(value, (float, int, np.number)) and value < 0:
        rule, fix = "a probability, which is between 0 and 1", "apply softmax if these are scores."
        raise broken(where, value, rule, fix, error=InvalidPrediction)
    return fraction(value, where=where, error=InvalidPrediction)


def class_number(label: Any, classes: Sequence[str], *, where: str = "label") -> int:  # noqa: ANN401
    """The class's number; the name must be one of `classes`, letter for letter."""
    if isinstance(label, str) and label in classes:
        return classes.index(label)
    named = list(classes[:12]) + (["..."] if len(classes) > 12 else [])
    raise UnknownClass(
        f"{where}={shown(label)} is not a class; expected one of {named!r}. Class names are strings.",
        field=where, value=label, rule="a class of the project or session", fix=f"Use one of: {', '.join(named)}.",
    )  # fmt: skip


def checked_id(value: Any, *, where: str) -> str:  # noqa: ANN401
    """A non-empty string; ids are strings at the door, so that 7 and '7' cannot be two items."""
    if not isinstance(value, str) or not value:
        raise broken(where, value, "a non-empty string", "use str(...) on numeric ids.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise broken(where, value, "valid Unicode text", "remove the lone surrogate.") from None
    return value


def checked_time(value: float | None) -> float:
    """Seconds since the epoch; the present if None."""
    return clock.time() if value is None else bounded(value, where="time", least=-1e12, most=1e12)

"""The only place that checks shapes, simplexes and ranges of what users hand us.

Public functions, the session, the loaders and the command line call these; kernels and internals trust.
Every message names the argument, the value, the rule and the fix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.errors import InvalidInput, InvalidPrediction

if TYPE_CHECKING:  # `types` checks its own values with this module
    from quorate.types import FloatArray, IntArray

MOST_VOTES = 100_000  # votes of one class, and members of a pool: the exact posterior takes seconds there
MOST_WHOLE = 2**32 - 1  # any other whole number; also the largest seed most libraries take
PREDICTION_FLOOR = 1e-9  # smallest probability a classifier may speak: keeps log f finite (docs/paper-notes.md)
SUM_TOLERANCE = 1e-3
_ROUND_OFF = 1e-9  # of adding up: 0.647 + 0.001 + 0.351 is within 0.001 of 1


def probabilities(prediction: Any, *, where: str = "prediction") -> FloatArray:  # noqa: ANN401
    """Probability vectors over the last axis: checked, renormalised, floored at PREDICTION_FLOOR.

    >>> probabilities([0.7, 0.2, 0.1]).round(3)
    array([0.7, 0.2, 0.1])
    """
    array = as_floats(prediction, where=where, error=InvalidPrediction)
    if array.ndim == 0 or array.shape[-1] < 2:
        fix = "For one score instead of a vector see quorate.Session.open."
        raise _odd(where, array, f"has shape {array.shape}", "at least 2 classes on the last axis", fix)
    if not np.all(np.isfinite(array)):
        fix = "Drop the item's prediction (None) if the classifier has none."
        said = f"contains {_first(array, ~np.isfinite(array))}"
        raise _odd(where, array, said, "finite probabilities", fix)
    if np.any(array < 0):
        rule, fix = "probabilities, which are between 0 and 1", "Pass probabilities, not logits: apply softmax first."
        raise _odd(where, array, f"contains {_first(array, array < 0)}", rule, fix)
    sums = array.sum(axis=-1)
    off = np.abs(sums - 1) > SUM_TOLERANCE + _ROUND_OFF
    if np.any(off):
        rule = f"1 (within {SUM_TOLERANCE:g}, then renormalised)"
        fix = "Are these percentages, scores or counts? Pass probabilities."
        raise _odd(where, array, f"sums to {_first(sums, off):.6g}", rule, fix)
    return floored(array)


def floored(array: FloatArray) -> FloatArray:
    """Rows on the simplex with no entry below PREDICTION_FLOOR (before the last renormalisation)."""
    raised = np.maximum(array / array.sum(axis=-1, keepdims=True), PREDICTION_FLOOR)
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def as_floats(values: Any, *, where: str, error: type[InvalidInput] = InvalidInput) -> FloatArray:  # noqa: ANN401
    """`values` as float64, or an error that names the argument; text is not read as numbers."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO" or (array.dtype.kind == "O" and any(map(_is_text, array.flat))):
            raise TypeError("not numbers")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError) as cause:
        wrong, fix = f"{where}={shown(values)} is not numeric", "pass numbers in a rectangular array."
        raise error(f"{wrong}; {fix}", field=where, value=values, rule="numbers", fix=fix) from cause


def counts(votes: Any, *, where: str = "votes") -> IntArray:  # noqa: ANN401
    """Vote counts (..., K): whole numbers, none negative, none above MOST_VOTES."""
    array = as_floats(votes, where=where)
    if array.ndim == 0 or array.shape[-1] < 2:
        raise InvalidInput(
            f"{where} has shape {array.shape}; expected counts for at least 2 classes on the last axis. "
            "Pass one count per class, 0 for a class without votes."
        )
    bad = ~np.isfinite(array) | (array < 0) | (array != np.floor(array))
    if np.any(bad):
        raise InvalidInput(
            f"{where} contains {_first(array, bad)}; expected counts: whole numbers >= 0. "
            "Pass how many votes each class has, not shares or labels."
        )
    if np.any(array > MOST_VOTES):
        raise InvalidInput(
            f"{where} contains {_first(array, array > MOST_VOTES):g}; expected counts of at most {MOST_VOTES}. "
            "Pass the votes of one item's pool, class by class."
        )
    return array.astype(np.int64)


def concentrations(alpha: Any, *, where: str = "alpha") -> FloatArray:  # noqa: ANN401
    """Dirichlet concentrations (..., K): positive and finite."""
    array = as_floats(alpha, where=where)
    if array.ndim == 0 or array.shape[-1] < 2:
        raise InvalidInput(
            f"{where} has shape {array.shape}; expected at least 2 classes on the last axis. "
            "Pass one concentration per class."
        )
    bad = ~np.isfinite(array) | (array <= 0)
    if np.any(bad):
        raise InvalidInput(
            f"{where} contains {_first(array, bad)}; expected positive, finite concentrations. "
            "Pass numbers above 0, as PriorParams with phi > 0 gives them."
        )
    return array


def whole(value: Any, *, where: str, least: int = 1, most: int = MOST_WHOLE) -> int:  # noqa: ANN401
    """A whole number in [least, most]; True and 2.0-like strings are refused, 2.0 is not."""
    is_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        is_number = True
    if not is_number or value < least or value > most:
        fix = "lower it" if is_number and value > most else "raise it" if is_number else f"pass e.g. {where}={least}"
        raise broken(where, value, f"a whole number >= {least} and <= {most}", f"{fix}.")
    return int(value)


def members(pool_size: Any, *, where: str = "pool_size") -> int:  # noqa: ANN401
    """How many experts a pool has: at least 1, at most MOST_VOTES."""
    return whole(pool_size, where=where, most=MOST_VOTES)


def fraction(value: Any, *, where: str, error: type[InvalidInput] = InvalidInput) -> float:  # noqa: ANN401
    """A number in [0, 1]."""
    return bounded(value, where=where, least=0.0, most=1.0, error=error)


def bounded(
    value: Any,  # noqa: ANN401
    *,
    where: str,
    least: float,
    most: float = math.inf,
    error: type[InvalidInput] = InvalidInput,
) -> float:
    """A finite number in [least, most], as a Python float; text and truth values are refused."""
    number = _number(value)
    if not (math.isfinite(number) and least <= number <= most):
        rule = f"at least {least:g}" if math.isinf(most) else f"in [{least:g}, {most:g}]"
        fix = f"pass a number itself, e.g. {where}={least:g}"
        if not math.isnan(number):
            fix = "lower it" if number > least else "raise it"
        if most <= 1.0 and 2 <= number <= 100:  # a percentage
            fix = f"did you mean {number / 100:g}? Pass a share, not a percentage"
        raise broken(where, value, f"a number {rule}", f"{fix}.", error=error)
    return number


def positive(value: Any, *, where: str) -> FloatArray:  # noqa: ANN401
    """Numbers above 0, of any shape."""
    array = as_floats(value, where=where)
    if not (np.all(np.isfinite(array)) and np.all(array > 0)):
        raise InvalidInput(f"{where}={shown(value)} must be positive and finite; pass values above 0.")
    return array


def vote_limits(min_votes: int, max_votes: int | None) -> None:
    """The most votes an item may have are not fewer than the least."""
    if max_votes is not None and max_votes < min_votes:
        raise broken(
            "max_votes", max_votes, f"at least min_votes, which is {min_votes}", "raise max_votes or lower min_votes."
        )


def class_names(classes: Iterable[str]) -> tuple[str, ...]:
    """At least two different, non-empty strings."""
    if isinstance(classes, str):
        raise broken("classes", classes, "a list of names, not one string", "pass e.g. ['cat', 'dog'].")
    try:
        names = tuple(classes)
    except TypeError as cause:
        raise broken("classes", classes, "a list of names", "pass them all, e.g. ['cat', 'dog'].") from cause
    for name in names:
        if not isinstance(name, str) or not name:
            raise broken("classes", name, "non-empty strings", "give each class a name, e.g. str(number).")
    if len(names) < 2 or len(set(names)) != len(names):
        raise broken("classes", list(names), "at least 2 different names", "name every class once.")
    return names


def broken(
    field: str,
    value: Any,  # noqa: ANN401
    rule: str,
    fix: str,
    *,
    error: type[InvalidInput] = InvalidInput,
) -> InvalidInput:
    """The error of an argument that breaks a rule: the message of the house, and its parts for programs.

    >>> broken("pool_size", 0, "a whole number >= 1", "raise it.")
    InvalidInput('pool_size=0; expected a whole number >= 1; raise it.')
    """
    return error(f"{field}={shown(value)}; expected {rule}; {fix}", field=field, value=value, rule=rule, fix=fix)


def _odd(where: str, array: FloatArray, what: str, rule: str, fix: str) -> InvalidPrediction:
    """The same of a prediction, of which `what` is said: "contains -1", "has shape (3,)"."""
    words = f"{where} {what}; expected {rule}. {fix}"
    return InvalidPrediction(words, field=where, value=array.tolist(), rule=rule, fix=fix)


def shown(value: Any) -> str:  # noqa: ANN401
    """A value as a message shows it: on one line, and not for ever."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 200 else f"{text[:200]}..."


def _number(value: Any) -> float:  # noqa: ANN401
    """The number a value is, or nan if it is none."""
    if isinstance(value, (bool, np.bool_)):
        return math.nan
    try:
        if isinstance(value, Real):
            return float(value)
        array = np.asarray(value)  # numbers of other libraries
        return float(array) if array.ndim == 0 and array.dtype.kind in "iuf" else math.nan
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError, RuntimeError):
        return math.nan


def _is_text(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, (str, bytes))


def _first(values: FloatArray, where: Any) -> float:  # noqa: ANN401
    """The first offending value, for the message."""
    return float(np.asarray(values)[where].flat[0])

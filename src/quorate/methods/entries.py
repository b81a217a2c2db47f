"""Methods in words: formats their parameters, describes every method.

Called by the commands and the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quorate.methods.registry import METHODS, method


def parameter_text(parameters: Mapping[str, Any]) -> str:
    """The parameters of a method as short text.

    >>> parameter_text(method("finexp", threshold=0.9).parameters), parameter_text(method("ask-all").parameters)
    ('threshold 0.9', '')
    """
    return ", ".join(f"{key} {_short(value)}" for key, value in parameters.items())


def _short(value: object) -> str:
    """Three digits of a fraction, all of a large number.

    >>> _short(0.12345), _short(2000.0), _short(3)
    ('0.123', '2000', '3')
    """
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


GROUPS = {  # heading -> methods
    "default": ("value",),
    "the paper's": (
        "finexp", "infexp", "fixed-finexp", "fixed-infexp", "fixed-ask-finexp", "fixed-ask-infexp", "random", "entropy",
        "mp",
    ),
    "counting rules": ("ask-all", "until-settled", "quorum", "unanimous-then-cap", "beta"),
    "people": ("crowd", "panel"),
}  # fmt: skip
SENTENCES = {
    "value": "Asks while a vote saves more than it costs.",
    "finexp": "Exact for the finite pool; stops at a confidence.",
    "infexp": "Like finexp, for an infinite pool.",
    "fixed-finexp": "finexp without learning: the classifier is one vote.",
    "fixed-infexp": "infexp without learning: the classifier is one vote.",
    "fixed-ask-finexp": "Asks like fixed-finexp, answers like finexp.",
    "fixed-ask-infexp": "Asks like fixed-infexp, answers like infexp.",
    "random": "A random number of votes for each item.",
    "entropy": "More votes where the prediction has a high entropy.",
    "mp": "Model Picker: more votes where such classes were wrong.",
    "ask-all": "Asks every member of the pool.",
    "until-settled": "Asks until the missing votes cannot change the winner.",
    "quorum": "Stops when one class has a given number of votes.",
    "unanimous-then-cap": "Stops if the first votes agree, else at a maximum.",
    "beta": "Stops when the leader probably beats the runner-up.",
    "crowd": "The true class behind the votes of named people.",
    "panel": "A small panel of named people: plans whom to ask.",
}


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """One method: its name, one sentence, and its parameters with their defaults."""

    name: str
    sentence: str
    parameters: dict[str, Any]


def catalogue() -> tuple[MethodEntry, ...]:
    """Every method of `METHODS`, in its order.

    >>> catalogue()[-2].name, catalogue()[-2].parameters
    ('crowd', {'threshold': 0.98})
    """
    return tuple(MethodEntry(name, SENTENCES[name], dict(method(name).describe()["parameters"])) for name in METHODS)

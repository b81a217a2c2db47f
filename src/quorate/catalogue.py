"""Methods in words: formats their parameters, describes every method.

Called by the command line, the workflows and the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quorate.methods import DEFAULT_HYPERPRIOR, METHODS, Method, method


def parameter_text(parameters: Mapping[str, Any]) -> str:
    """The parameters of a method as short text, without the hyperprior unless it is another than the default.

    >>> parameter_text(method("finexp", threshold=0.9).parameters), parameter_text(method("ask-all").parameters)
    ('threshold 0.9', '')
    """
    usual = (DEFAULT_HYPERPRIOR, "default")
    visible = {key: value for key, value in parameters.items() if key != "hyperprior" or value not in usual}
    return ", ".join(
        f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in visible.items()
    )


SENTENCES = {
    "value": "Our default: exact finite-pool posterior with a learned prior; asks while a vote is worth its cost.",
    "finexp": "The paper's FinExp: exact finite-pool posterior with a learned prior; stops at a confidence threshold.",
    "infexp": "The paper's InfExp: like finexp, but assumes an infinite pool.",
    "fixed-finexp": "finexp without learning: the classifier always counts as one vote.",
    "fixed-infexp": "infexp without learning: the classifier always counts as one vote.",
    "fixed-ask-finexp": "Asks like fixed-finexp, answers like finexp.",
    "fixed-ask-infexp": "Asks like fixed-infexp, answers like infexp.",
    "random": "Asks a random number of votes for each item, independent of the classifier; answers their plurality.",
    "entropy": "Asks more votes where the classifier's prediction has a high entropy; answers their plurality.",
    "mp": "Model Picker applied to classes: asks more votes where the predicted classes have been wrong before.",
    "mp-released": "The rule of the released Model Picker code: asks more votes where the top class is less certain.",
    "ask-all": "Asks every member of the pool: what a fixed number of annotators per item costs.",
    "until-settled": "Asks until the missing votes cannot change the winner; wrong only in ties.",
    "quorum": "Stops when one class has a given number of votes.",
    "unanimous-then-cap": "Stops if the first few votes agree, else continues to a maximum.",
    "beta": "Stops when the leading class probably beats the runner-up; ignores the classifier and the pool size.",
    "crowd": "Estimates the true class behind the votes of named people, and learns how good each of them is.",
    "panel": "For a small panel of named people: plans exactly whom to ask, and learns how each of them votes.",
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


def is_simple(chosen: Method) -> bool:
    """True for rules that only count votes: no posterior, nothing learned (they may use the prediction).

    >>> is_simple(method("quorum")), is_simple(method("finexp"))
    (True, False)
    """
    return chosen.learner is None and chosen.asking.posterior == "vote_share"

"""What every method is, in one sentence each, and its knobs with the values in force.

Read by `quorate methods`, by the demo's report and by anyone who wants to choose; a test holds it to `METHODS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quorate.methods import METHODS, Method, method

SENTENCES = {
    "quorate": "Our own: the exact finite-pool posterior with a learned prior; asks while a vote is worth it.",
    "finexp": "The paper's FinExp: the exact finite-pool posterior with a learned prior, stops at a confidence.",
    "infexp": "The paper's InfExp: as finexp, but as if the pool were endless.",
    "fixed-finexp": "finexp that learns nothing: the classifier always counts as one vote.",
    "fixed-infexp": "infexp that learns nothing: the classifier always counts as one vote.",
    "fixed-ask-finexp": "Asks like fixed-finexp, answers with what finexp has learned.",
    "fixed-ask-infexp": "Asks like fixed-infexp, answers with what infexp has learned.",
    "random": "A random number of votes for each item, whatever the classifier says; the plurality of them answers.",
    "entropy": "More votes where the classifier's prediction is spread out (its entropy); their plurality answers.",
    "mp": "Model Picker read per class: more votes where the classes it names have been wrong before.",
    "mp-released": "What the released Model Picker code does: more votes where the classifier's top class is unsure.",
    "ask-all": "Every member of the pool, always: what a fixed number of annotators per item costs.",
    "until-settled": "Asks until the missing votes cannot change the winner: never wrong but for ties.",
    "quorum": "Stops when one class has so many votes.",
    "unanimous-then-cap": "Stops if the first few agree, else goes on to a cap.",
    "beta": "Stops when the leader would surely beat the runner-up in a duel; knows no classifier and no pool.",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One method: its name, one sentence, and its knobs with their defaults."""

    name: str
    sentence: str
    knobs: dict[str, Any]


def catalogue() -> tuple[Entry, ...]:
    """Every method of `METHODS`, in its order.

    >>> catalogue()[-1].name, catalogue()[-1].knobs
    ('beta', {'threshold': 0.95})
    """
    return tuple(Entry(name, SENTENCES[name], dict(method(name).describe()["knobs"])) for name in METHODS)


def is_simple(chosen: Method) -> bool:
    """True for the rules that count votes: no posterior, nothing learned (they may look at the prediction).

    >>> is_simple(method("quorum")), is_simple(method("finexp"))
    (True, False)
    """
    return chosen.learner is None and chosen.asking.posterior == "vote_share"

"""One sentence for each decision: why an item asks for votes or is closed."""

from dataclasses import replace
from typing import get_args

from quorate.reasons import SENTENCES
from quorate.types import Reason
from quorate_service.pages.explain import timeline
from quorate_service.pages.rendering import environment

DECIDED = {"ask": True, "label": "cat", "confidence": 0.6, "reason": "ask", "params": 1, "tune": 0}
AGAIN = {"probs": [0.6, 0.4], **{name: DECIDED[name] for name in ("ask", "label", "confidence", "reason")}}


def told(*acts):
    """The steps of these acts: (kind, voter, label)."""
    events = [
        {"seq": seq, "time": float(seq), "type": kind, "voter": voter, "decision": DECIDED, "recomputed": AGAIN}
        | ({"label": label} if label else {})
        for seq, (kind, voter, label) in enumerate(acts, start=1)
    ]
    return timeline(events, ["cat", "dog"], {})


def test_each_step_counts_the_votes_and_abstentions_there_were_then():
    steps = told(
        ("open", None, None), ("abstain", "ada", None), ("vote", "ben", "dog"), ("abstain", "eve", None),
        ("retract", "ada", None), ("vote", "ada", "cat"), ("skip", "fay", None),
    )  # fmt: skip
    assert [step.num_abstained for step in steps] == [0, 1, 1, 2, 1, 1, 1]
    assert [step.votes for step in steps] == [(0, 0), (0, 0), (0, 1), (0, 1), (0, 1), (1, 1), (1, 1)]


def because(step):
    return environment.get_template("_explain.html").module.because(step, "Cat", SENTENCES).strip()


def test_every_reason_has_a_sentence_with_the_answer():
    (step,) = told(("vote", "ada", "cat"))
    sentences = [because(replace(step, reason=reason, asks=reason == "ask")) for reason in get_args(Reason)]
    assert len(set(sentences)) == len(sentences) and all("Cat" in sentence for sentence in sentences)


def test_a_tie_and_an_item_without_an_answer_are_called_that():
    (step,) = told(("vote", "ada", "cat"))
    tie = because(replace(step, asks=False, reason="exhausted", probs=(0.5, 0.5)))
    assert "2 classes tie" in tie and "Cat" in tie
    nothing = replace(step, asks=False, reason="exhausted", votes=(0, 0))
    assert nothing.is_unanswered and "Cat" not in because(nothing)

"""One sentence for each decision: why an item asks for votes or is closed."""

from dataclasses import replace
from typing import get_args

from quorate.service.pages.explain import audit_sentence, because, timeline
from quorate.types import Reason

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


def test_every_reason_has_a_sentence_with_the_votes_and_the_belief():
    (step,) = told(("vote", "ada", "cat"))
    for reason in get_args(Reason):
        sentence = because(replace(step, reason=reason, asks=reason == "ask"), "Cat")
        assert sentence.startswith("Open after 1 vote: 60" if reason == "ask" else "Closed after 1 vote: ")
        assert sentence.endswith("sure that the pool would say 'Cat'.")


def test_in_a_tie_nothing_is_said_to_lead_and_the_answer_was_drawn():
    (step,) = told(("open", None, None))
    tied = replace(step, probs=(0.5, 0.5), confidence=0.5)
    assert because(tied, "cat") == "Open without a vote: 2 classes tie at 50\u00a0% each."
    assert because(replace(tied, asks=False, reason="exhausted"), "cat").endswith("the answer was drawn: 'cat'.")


def test_the_audit_sentence_has_the_draw_and_its_result():
    assert audit_sentence(None, None, None) is None
    assert "Not drawn" in audit_sentence(None, 0.05, None)
    assert "is asked" in audit_sentence("drawn", 0.05, None)
    assert "says something else" in audit_sentence("done", 0.05, 1.0)
    assert "is tied" in audit_sentence("done", 0.05, 0.5)

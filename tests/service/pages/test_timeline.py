"""An item's story: the votes and abstentions of each step are those of its time."""

from quorate.service.pages.timeline import story

DECIDED = {"ask": True, "label": "cat", "confidence": 0.6, "reason": "ask", "params": 1, "tune": 0}
AGAIN = {"probs": [0.6, 0.4], **{name: DECIDED[name] for name in ("ask", "label", "confidence", "reason")}}


def told(*acts):
    """The steps of these acts: (kind, voter, label)."""
    events = [
        {"seq": seq, "time": float(seq), "type": kind, "voter": voter, "decision": DECIDED, "recomputed": AGAIN}
        | ({"label": label} if label else {})
        for seq, (kind, voter, label) in enumerate(acts, start=1)
    ]
    return story(events, ["cat", "dog"], {})


def test_each_step_counts_the_votes_and_abstentions_there_were_then():
    steps = told(
        ("open", None, None), ("abstain", "ada", None), ("vote", "ben", "dog"), ("abstain", "eve", None),
        ("retract", "ada", None), ("vote", "ada", "cat"), ("skip", "fay", None),
    )  # fmt: skip
    assert [step.num_abstained for step in steps] == [0, 1, 1, 2, 1, 1, 1]
    assert [step.votes for step in steps] == [(0, 0), (0, 0), (0, 1), (0, 1), (0, 1), (1, 1), (1, 1)]

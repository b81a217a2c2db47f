"""An item folded from its own events equals the session's item: a service needs nothing else."""

from functools import reduce

import numpy as np
import pytest

from quorate.session import MemoryJournal
from quorate.session.decide import decide
from quorate.session.items import advance, opened
from tests.session.conftest import CLASSES, make

OPEN = {
    "prediction": [[0.5, 0.5]],
    "pool_size": 3,
    "quota": None,
    "tie_draw": 0.0,
    "min_votes": 0,
    "max_votes": None,
}


def label_of(event):
    return CLASSES.index(event["label"]) if "label" in event else None


@pytest.mark.parametrize("name", ["value", "infexp", "until-settled"])
def test_every_decision_can_be_recomputed_from_the_items_own_events(name):
    journal, rng = MemoryJournal(), np.random.default_rng(2)
    session = make(name, journal=journal, refit_every=None)
    for number in range(25):
        session.open(f"i{number}", rng.dirichlet(np.ones(3)))
    for _ in range(200):
        waiting = session.open_items()
        if not waiting:
            break
        item = waiting[rng.integers(len(waiting))]
        if rng.random() < 0.1:
            session.abstain(item)
        else:
            session.vote(item, CLASSES[rng.integers(3)])
    histories = {}
    for event in journal.events():
        histories.setdefault(event["item"], []).append(event)
    state, checked = session._state, 0
    for events in histories.values():
        items = [opened(events[0], 0)]
        items += [
            reduce(lambda item, e: advance(item, e, label_of(e)), events[1:n], items[0])
            for n in range(2, len(events) + 1)
        ]
        for item, event in zip(items, events, strict=True):
            verdict = decide(state.settings.method, state.prior, state.policy_state, item)
            stored = event["decision"]
            assert (verdict.ask, CLASSES[verdict.label], verdict.confidence, verdict.reason) == (
                stored["ask"],
                stored["label"],
                stored["confidence"],
                stored["reason"],
            )
            checked += 1
    assert checked > 60


def test_advancing_an_item_leaves_the_old_value_alone():
    item = opened(OPEN, 0)
    later = advance(item, {"type": "vote", "voter": "ann", "time": 5.0}, 1)
    assert item.votes.tolist() == [0, 0]
    assert later.votes.tolist() == [0, 1]
    assert dict(item.ballots) == {}
    undone = advance(later, {"type": "retract", "voter": "ann"}, None)
    assert undone.votes.tolist() == [0, 0]


def test_what_a_policy_sees_cannot_be_written_to():
    view = opened(OPEN, 0).view()
    with pytest.raises(ValueError, match="read-only"):
        view.votes[0] = 5

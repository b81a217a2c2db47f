"""Recorded votes of a panel: the same decisions as one by one."""

import numpy as np
import pytest

from quorate.people.panel import GONE, UNSEEN, new_panel
from quorate.people.panel_learning import learn_item
from quorate.people.panel_plan import advise
from quorate.people.panel_stream import run_panel
from quorate.validate import probabilities
from tests.quorate.people.test_panel_learning import world
from tests.refusals import refused

COSTS = (1.0, 0.4, 0.3)


def recorded(num_items=40, seed=3):
    _, votes, log_f = world(seed, num_items)
    return votes, probabilities(np.exp(log_f[:, 0]))


def test_a_stream_decides_as_one_item_at_a_time():
    votes, predictions = recorded()
    available = np.random.default_rng(0).random(votes.shape) < 0.8
    run = run_panel(votes, predictions, min_gain=0.02, costs=COSTS, available=available)
    state = new_panel(3, 3)
    for t, row in enumerate(votes):
        log_f, known = np.log(probabilities(predictions[t]))[None], np.where(row >= 0, UNSEEN, GONE)
        asked = []
        while True:
            found = advise(state, log_f, known, available=available[t], costs=COSTS, min_gain=0.02)
            if found.expert < 0:
                break
            known[found.expert] = row[found.expert]
            asked.append(found.expert)
        learn_item(state, log_f, known)
        assert run.asked[t, : len(asked)].tolist() == asked and np.all(run.asked[t, len(asked) :] == -1)
        assert np.array_equal(run.probs[t], found.probs)
        assert run.costs[t] == pytest.approx(sum(COSTS[e] for e in asked))
        assert all(available[t, e] and row[e] >= 0 for e in asked)
    for ours, theirs in zip(run.state, state, strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("votes", {"votes": [[0, 1, 3]]}),
        ("votes", {"votes": [[0, 1, 1], [0, 1, 1]]}),
        ("costs", {"costs": [1.0]}),
        ("available", {"available": [True]}),
        ("votes", {"votes": [[0, 1, 1, 2, 0, 1, 2, 0, 1] * 2]}),  # 18 members with three classes are too many
    ],
)
def test_what_is_wrong_is_named(field, change):
    arguments = {"votes": [[0, 1, 1]], "predictions": [[0.2, 0.5, 0.3]], "min_gain": 0.1} | change
    with refused(field):
        run_panel(arguments.pop("votes"), arguments.pop("predictions"), **arguments)

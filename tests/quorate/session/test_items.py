"""An item is a value: advancing it changes nothing."""

import pytest

from quorate.session.items import advance, opened

OPEN = {
    "prediction": [[0.5, 0.5]],
    "pool_size": 3,
    "quota": None,
    "tie_draw": 0.0,
    "min_votes": 0,
    "max_votes": None,
}


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

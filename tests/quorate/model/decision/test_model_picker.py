import numpy as np
import pytest
from tests.refusals import refused

from quorate.core import picker_rate
from quorate.model.decision.model_picker import ModelPicker
from quorate.rng import stream
from quorate.types import Item

SURE = np.array([0.9, 0.05, 0.05])
UNSURE = np.array([0.4, 0.3, 0.3])


def closed(prediction, votes, state):
    return Item(prediction, prediction[None], np.array(votes), 6, state=state)


def test_before_any_loss_the_rate_is_the_largest_variance_of_a_class():
    assert picker_rate(np.zeros(3), UNSURE, 0, 1.0) == pytest.approx(0.4 * 0.6)
    assert picker_rate(np.zeros(3), UNSURE, 0, 100.0) == 1.0


def test_it_asks_more_where_the_classifier_is_unsure():
    assert picker_rate(np.zeros(3), UNSURE, 0, 1.0) > picker_rate(np.zeros(3), SURE, 0, 1.0)


def test_votes_against_a_class_raise_its_loss_by_the_belief_over_the_chance_of_asking():
    policy = ModelPicker(2.0)
    state = policy.update(closed(SURE, [0, 2, 0], policy.init(3)))
    asked = 1 - (1 - 2.0 * 0.09) ** 6
    assert state["losses"] == pytest.approx([0.9 / asked, 0.0, 0.05 / asked])
    assert state["rounds"] == 1


def test_an_item_without_votes_teaches_nothing():
    policy = ModelPicker(2.0)
    assert policy.update(closed(SURE, [0, 0, 0], policy.init(3)))["losses"] == [0.0] * 3


def test_a_class_that_was_often_wrong_is_trusted_less():
    policy = ModelPicker(1.0)
    state = policy.init(3)
    for _ in range(30):
        state = policy.update(closed(SURE, [0, 2, 0], state))
    assert picker_rate(np.array(state["losses"]), SURE, state["rounds"], 1.0) > picker_rate(np.zeros(3), SURE, 30, 1.0)


def test_the_quota_is_drawn_from_the_rng_it_is_given():
    policy = ModelPicker(4.0)
    item = closed(UNSURE, [0, 0, 0], policy.init(3))
    draws = [policy.quota(item, stream(1, "q", t)) for t in range(50)]
    assert draws == [policy.quota(item, stream(1, "q", t)) for t in range(50)]
    assert 0 <= min(draws) < max(draws) <= 6


def test_a_negative_scale_is_refused():
    with refused("scale"):
        ModelPicker(-1)

import numpy as np
import pytest

from quorate.errors import InvalidPrediction
from quorate.session import Session
from quorate.session.inputs import checked_id, checked_time, parse_prediction
from tests.refusals import refused

CLASSES = ("cat", "dog", "bird")


def parse(raw, classes=CLASSES, num_classifiers=1):
    return parse_prediction(raw, classes, num_classifiers, item="x")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([0.7, 0.2, 0.1], [0.7, 0.2, 0.1]),
        (np.array([[0.7, 0.2, 0.1]]), [0.7, 0.2, 0.1]),
        (None, [1 / 3, 1 / 3, 1 / 3]),
        ("dog", [0.05, 0.9, 0.05]),
        ({"dog": 0.8}, [0.1, 0.8, 0.1]),
        ({"dog": 0.8, "cat": 0.2}, [0.2, 0.8, 0.0]),
        ({"dog": 0.5, "cat": 0.3, "bird": 0.2}, [0.3, 0.5, 0.2]),
    ],
)
def test_every_documented_form_becomes_a_vector(raw, expected):
    assert parse(raw).shape == (1, 3)
    np.testing.assert_allclose(parse(raw)[0], expected, atol=1e-8)


@pytest.mark.parametrize("vector", [[0.647, 0.003, 0.351], [0.646, 0.002, 0.351], [0.334, 0.333, 0.334]])
def test_a_mapping_that_names_every_class_follows_the_rule_of_vectors(vector):
    np.testing.assert_array_equal(parse(dict(zip(CLASSES, vector, strict=True))), parse(vector))


def test_a_mapping_may_be_rounded_where_classes_are_left_out_too():
    np.testing.assert_allclose(parse({"cat": 0.65, "dog": 0.351})[0], [0.64935, 0.35065, 0.0], atol=1e-5)


@pytest.mark.parametrize(
    ("raw", "num_classes", "fix"),
    [
        ({"cat": 0.7, "dog": 0.7}, 3, "percentages"),
        ({"cat": 0.7, "dog": 0.6, "bird": 0.1}, 3, "percentages"),
        ({"cat": -0.1, "dog": 1.0}, 3, "softmax"),
        ([-0.1, 1.0, 0.1], 3, "softmax"),
        ({"cat": 65.0}, 3, "0.65"),
        (-2.5, 2, "softmax"),
    ],
)
def test_what_is_no_distribution_is_asked_what_it_is(raw, num_classes, fix):
    with refused("prediction", InvalidPrediction) as caught:
        parse(raw, CLASSES[:num_classes])
    assert fix in caught.value.fix


def test_a_single_score_is_the_probability_of_the_second_class():
    np.testing.assert_allclose(parse(0.8, ("healthy", "ill"))[0], [0.2, 0.8])


def test_several_classifiers_may_each_speak_in_their_own_form():
    several = parse(["cat", None, {"bird": 0.8}], num_classifiers=3)
    np.testing.assert_allclose(several, [[0.9, 0.05, 0.05], [1 / 3] * 3, [0.1, 0.1, 0.8]], atol=1e-8)
    assert parse(None, num_classifiers=2).shape == (2, 3)


@pytest.mark.parametrize("raw", ["cat", 0.5, {"cat": 0.5}, [[0.5, 0.3, 0.2]]])
def test_one_prediction_where_several_are_due_is_refused(raw):
    with refused("prediction", InvalidPrediction):
        parse(raw, num_classifiers=2)


def test_a_session_without_any_classifier_learns_which_classes_are_frequent():
    session = Session("value:refit_every=10", classes=CLASSES, pool_size=3)
    for number in range(60):
        decision = session.open(str(number))
        while decision.ask:
            decision = session.vote(str(number), "bird")
    assert session.predict(None).label == "bird"
    assert session.predict(None).confidence > 0.8


def test_a_session_of_two_classifiers_fuses_them():
    session = Session("value", classes=CLASSES, pool_size=3, num_classifiers=2)
    assert session.predict(["cat", "cat"]).confidence > session.predict(["cat", "dog"]).confidence
    assert session.params.tau.shape == (2, 3)


@pytest.mark.parametrize("value", [7, None, "", b"x", ["a"]])
def test_ids_are_non_empty_strings(value):
    with refused("item_id", value=value):
        checked_id(value, where="item_id")


def test_times_are_seconds():
    assert checked_time(3) == 3.0
    assert checked_time(None) > 1e9
    with refused("time"):
        checked_time(float("inf"))

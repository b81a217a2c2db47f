"""alpha = theta softmax(tau log f + bias) + phi."""

import numpy as np
import pytest

from quorate.errors import InvalidPrediction
from quorate.prior.concentration import concentration, concentration_into
from quorate.types import PriorParams

RNG = np.random.default_rng(5)


def slow(params, prediction):
    """The formula for one item."""
    tau = np.atleast_2d(params.tau)
    logits = sum(t * np.log(f) for t, f in zip(tau, np.atleast_2d(prediction), strict=True))
    logits = logits + (0 if params.bias is None else params.bias)
    return params.theta * np.exp(logits) / np.exp(logits).sum() + params.phi


@pytest.mark.parametrize("num_classifiers", [None, 1, 3])
@pytest.mark.parametrize("with_bias", [False, True])
def test_agrees_with_the_formula_for_one_and_several_classifiers(num_classifiers, with_bias):
    shape = (4,) if num_classifiers is None else (num_classifiers, 4)
    params = PriorParams(3.0, 0.2, RNG.gamma(2, 1, shape), RNG.normal(size=4) if with_bias else None)
    predictions = RNG.dirichlet(np.ones(4), size=(2, 5, *shape[:-1]))
    alpha = concentration(params, predictions)
    assert alpha.shape == (2, 5, 4)
    for index in np.ndindex(2, 5):
        np.testing.assert_allclose(alpha[index], slow(params, predictions[index]), rtol=1e-12)


def test_trust_of_one_everywhere_returns_the_prediction_itself():
    prediction = np.array([0.7, 0.2, 0.1])
    np.testing.assert_allclose(concentration(PriorParams(1, 1e-12, np.ones(3)), prediction), prediction, atol=1e-9)


def test_total_is_theta_plus_k_phi():
    alpha = concentration(PriorParams(5.0, 0.25, [0.3, 4.0, 1.0]), RNG.dirichlet(np.ones(3), size=20))
    np.testing.assert_allclose(alpha.sum(axis=-1), 5.75, rtol=1e-14)


def test_a_probability_of_zero_and_a_huge_trust_stay_finite():
    alpha = concentration(PriorParams(5.0, 1e-6, [1e6, 1e6, 1e6]), [1.0, 0.0, 0.0])
    assert np.all(np.isfinite(alpha))
    assert np.all(alpha > 0)


def test_kernel_fills_its_argument_and_agrees_bit_for_bit():
    params = PriorParams(3.0, 0.2, RNG.gamma(2, 1, (2, 4)), RNG.normal(size=4))
    prediction = RNG.dirichlet(np.ones(4), size=2)
    expected = concentration(params, prediction)
    out = np.empty(4)
    floored = np.maximum(prediction / prediction.sum(axis=-1, keepdims=True), 1e-9)
    log_prediction = np.log(floored / floored.sum(axis=-1, keepdims=True))
    concentration_into(params.theta, params.phi, np.array(params.tau), np.array(params.bias), log_prediction, out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("prediction", [[0.5, 0.5], [[0.2, 0.3, 0.5]] * 3])
def test_wrong_shape_is_refused_with_both_shapes_named(prediction):
    params = PriorParams(1, 1, np.ones((2, 3)))
    with pytest.raises(InvalidPrediction) as caught:
        concentration(params, prediction)
    assert caught.value.field == "prediction"

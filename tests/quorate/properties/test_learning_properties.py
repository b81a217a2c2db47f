"""Properties of learning on any data: order, relabelling, the start."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.model.learning.fit import fit
from quorate.model.learning.objective import negative_log_posterior
from quorate.model.learning.problem import pack
from quorate.types import PriorParams


@st.composite
def windows(draw):
    """(predictions, votes, with_bias, rng): small, with zeros in predictions and items without votes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    num_items, num_classes = draw(st.integers(0, 25)), draw(st.integers(2, 6))
    num_classifiers = draw(st.integers(1, 3))
    sharpness = draw(st.sampled_from([0.01, 0.3, 3.0]))
    shape = (num_items, num_classes) if num_classifiers == 1 else (num_items, num_classifiers, num_classes)
    predictions = rng.dirichlet(np.full(num_classes, sharpness), size=shape[:-1])
    counts = rng.integers(0, draw(st.sampled_from([1, 6, 80])) + 1, size=num_items)
    votes = np.zeros((num_items, num_classes), dtype=np.int64)
    for item, count in enumerate(counts):
        votes[item] = rng.multinomial(count, rng.dirichlet(np.full(num_classes, 0.3)))
    return predictions, votes, draw(st.booleans()), rng


@settings(max_examples=60, deadline=None)
@given(windows(), st.sampled_from(["infexp", "finexp", "value"]))
def test_fit_is_finite_converged_and_no_worse_than_its_start(window, name):
    predictions, votes, with_bias, rng = window
    shape = predictions.shape[1:]
    bias = rng.normal(size=shape[-1]) if with_bias else None
    scales = 10 ** rng.uniform(-5, 5, size=2)
    start = PriorParams(scales[0], scales[1], 10 ** rng.uniform(-3, 2, size=shape), bias)
    params, report = fit(predictions, votes, hyperprior=name, start=start, bias=with_bias)
    before = negative_log_posterior(start, predictions, votes, hyperprior=name)
    assert np.all(np.isfinite(pack(params)))
    assert report.converged
    assert -report.log_posterior <= before + 1e-9 * abs(before)


@settings(max_examples=25, deadline=None)
@given(windows())
def test_order_of_items_does_not_matter(window):
    predictions, votes, with_bias, rng = window
    order = rng.permutation(len(votes))
    params, _ = fit(predictions, votes, bias=with_bias)
    shuffled, _ = fit(predictions[order], votes[order], bias=with_bias)
    np.testing.assert_allclose(pack(shuffled), pack(params), rtol=1e-6, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(windows())
def test_relabelling_the_classes_relabels_the_parameters(window):
    predictions, votes, with_bias, rng = window
    order = rng.permutation(votes.shape[1])
    params, _ = fit(predictions, votes, bias=with_bias)
    relabelled, _ = fit(predictions[..., order], votes[:, order], bias=with_bias)
    np.testing.assert_allclose(relabelled.theta, params.theta, rtol=1e-6)
    np.testing.assert_allclose(relabelled.tau, params.tau[..., order], rtol=1e-6)
    if with_bias:
        np.testing.assert_allclose(relabelled.bias, params.bias[order], atol=1e-6)

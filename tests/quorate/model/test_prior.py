"""alpha = theta softmax(tau log f + bias) + phi; the hyperprior of the parameters and its mode."""

import math

import numpy as np
import pytest
from scipy.stats import gamma, multivariate_t
from tests.refusals import refused

from quorate.errors import InvalidInput, InvalidPrediction
from quorate.model.prior import HYPERPRIORS, Hyperprior, concentration, hyperprior
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


@pytest.mark.parametrize("prediction", [[0.5, 0.5], [[0.2, 0.3, 0.5]] * 3])
def test_wrong_shape_is_refused_with_both_shapes_named(prediction):
    params = PriorParams(1, 1, np.ones((2, 3)))
    with refused("prediction", InvalidPrediction):
        concentration(params, prediction)


def test_names_give_the_two_hyperpriors_of_the_paper():
    assert hyperprior("infexp") == Hyperprior(3.0, 2.0)
    assert hyperprior("finexp") == Hyperprior(1.1, 1.0)
    own = Hyperprior(2.0, 5.0, bias_sd=0.5)
    assert hyperprior(own) is own


def test_the_hyperprior_of_value_lets_classes_share_evidence():
    assert hyperprior("value") == Hyperprior(3.0, 2.0, bias_sd=1.3, phi_sum=1.0, tau_sd=0.3, phi_shape=5.0)


def test_phi_under_the_hyperprior_of_value_has_the_same_total_for_every_number_of_classes():
    for num_classes in (2, 10, 300):
        assert num_classes * hyperprior("value").mode(num_classes).phi == pytest.approx(1.0)
    params, plain = PriorParams(0.7, 1.3, [0.2, 0.4, 0.5]), Hyperprior(3.0, 2.0)
    for shape, rate, prior in (
        (3.0, 12.0, Hyperprior(3.0, 2.0, phi_sum=0.5)),
        (5.0, 24.0, Hyperprior(3.0, 2.0, phi_sum=0.5, phi_shape=5.0)),
    ):
        change = prior.log_density(params) - plain.log_density(params)
        assert change == pytest.approx(gamma(a=shape, scale=1 / rate).logpdf(1.3) - gamma(a=3.0, scale=0.5).logpdf(1.3))


def test_theta_phi_and_tau_may_have_a_prior_each():
    prior = Hyperprior(9.0, 9.0, theta=(3.0, 2.0), phi=(1.5, 4.0), tau=(2.0, 0.5))
    assert (prior.mode(3, 2).theta, prior.mode(3, 2).phi, prior.mode(3, 2).tau[0, 0]) == (1.0, 0.125, 1.0)
    params = PriorParams(0.7, 1.3, [[0.2, 0.4], [0.6, 0.8]])
    expected = gamma(a=3.0, scale=1 / 2.0).logpdf(0.7) + gamma(a=1.5, scale=1 / 4.0).logpdf(1.3)
    expected += gamma(a=2.0, scale=1 / (0.5 * 2)).logpdf(params.tau).sum()
    assert prior.log_density(params) == pytest.approx(expected, rel=1e-12)
    assert prior == Hyperprior(9.0, 9.0, theta=[3, 2], phi=[1.5, 4], tau=[2, 0.5]) == eval(repr(prior))


@pytest.mark.parametrize("where", ["theta", "phi", "tau"])
@pytest.mark.parametrize("value", [3.0, (3.0,), (1.0, 1.0), (3.0, 0.0), (3.0, math.nan), ("a", 1.0), (3.0, 1.0, 1.0)])
def test_a_prior_of_one_parameter_is_a_shape_above_1_and_a_rate_above_0(where, value):
    with refused(where):
        Hyperprior(**{where: value})


def test_phi_has_a_density_or_a_sum_and_not_both():
    with refused("phi"):
        Hyperprior(phi=(3.0, 2.0), phi_sum=1.0)


@pytest.mark.parametrize("given", [{"phi_shape": 5.0}, {"phi_shape": 1.0, "phi_sum": 1.0}])
def test_a_shape_of_phi_needs_a_mode_and_a_total(given):
    with refused("phi_shape"):
        Hyperprior(3.0, 2.0, **given)


def test_tau_are_drawn_to_their_mean_of_each_classifier():
    prior, plain = Hyperprior(3.0, 2.0, tau_sd=0.5), Hyperprior(3.0, 2.0)
    alike = PriorParams(0.7, 1.3, [[0.2, 0.2, 0.2], [4.0, 4.0, 4.0]])
    assert prior.log_density(alike) == plain.log_density(alike)
    apart = PriorParams(0.7, 1.3, np.exp([[-1.0, 0.0, 1.0], [2.0, 2.0, 2.0]]))
    assert prior.log_density(apart) - plain.log_density(apart) == pytest.approx(-0.5 * (1.0 + 1.0) / 0.25)


@pytest.mark.parametrize(("sd", "df"), [(1.0, 3.0), (0.5, 1.5), (2.0, 40.0)])
def test_a_bias_of_unknown_scatter_has_students_distribution(sd, df):
    params = PriorParams(0.7, 1.3, [0.2, 0.4, 0.5], [0.3, -0.1, 1.2])
    plain = PriorParams(0.7, 1.3, [0.2, 0.4, 0.5])
    prior = Hyperprior(3.0, 2.0, bias_sd=sd, bias_df=df)
    expected = multivariate_t(np.zeros(3), sd**2 * np.eye(3), df=df).logpdf(params.bias)
    assert prior.log_density(params) - prior.log_density(plain) == pytest.approx(expected, rel=1e-10)


def test_with_many_degrees_of_freedom_the_scatter_is_as_good_as_known():
    params = PriorParams(0.7, 1.3, [0.2, 0.4], [0.3, -0.1])
    known, learned = Hyperprior(3.0, 2.0, bias_sd=0.5), Hyperprior(3.0, 2.0, bias_sd=0.5, bias_df=1e7)
    assert learned.log_density(params) == pytest.approx(known.log_density(params), abs=1e-5)


def test_unknown_name_lists_the_known_ones():
    with refused("hyperprior", value="flat"):
        hyperprior("flat")
    with refused("hyperprior", value=3):
        hyperprior(3)


@pytest.mark.parametrize("values", [(1.0, 1.0), (0.5, 1.0), (3.0, 0.0), (3.0, -1.0), (3.0, math.nan), (math.inf, 1.0)])
def test_what_has_no_mode_is_refused(values):
    with pytest.raises(InvalidInput):
        Hyperprior(*values)
    with pytest.raises(InvalidInput):
        Hyperprior(3.0, 2.0, bias_sd=0.0)


@pytest.mark.parametrize("value", ["x", "3", None, [3.0], {}, True])
@pytest.mark.parametrize("where", ["shape", "rate", "bias_sd", "bias_df", "phi_sum", "tau_sd"])
def test_nonsense_is_refused_by_name(where, value):
    with refused(where):
        Hyperprior(**({"shape": 3.0, "rate": 2.0} | {where: value}))


@pytest.mark.parametrize("where", ["phi_sum", "tau_sd"])
def test_a_scale_too_small_to_compute_with_is_refused_and_none_is_not(where):
    with refused(where, value=1e-9):
        Hyperprior(3.0, 2.0, **{where: 1e-9})
    assert getattr(Hyperprior(3.0, 2.0, **{where: 0.0}), where) == 0.0


@pytest.mark.parametrize(
    ("sizes", "field"), [((1, 1), "num_classes"), ((2, 0), "num_classifiers"), (("a",), "num_classes")]
)
def test_a_mode_needs_classes_and_classifiers(sizes, field):
    with refused(field):
        hyperprior("infexp").mode(*sizes)


@pytest.mark.parametrize("name", sorted(HYPERPRIORS))
@pytest.mark.parametrize("num_classifiers", [1, 3])
@pytest.mark.parametrize("with_bias", [False, True])
def test_the_mode_is_the_most_probable_point(name, num_classifiers, with_bias):
    prior = hyperprior(name)
    mode = prior.mode(4, num_classifiers, with_bias=with_bias)
    assert mode.tau.shape == ((4,) if num_classifiers == 1 else (3, 4))
    assert (mode.bias is not None) == with_bias
    best, rng = prior.log_density(mode), np.random.default_rng(0)
    for _ in range(50):
        bias = None if mode.bias is None else mode.bias + 0.1 * rng.normal(size=4)
        factors = np.exp(0.1 * rng.normal(size=2))
        tau = mode.tau * np.exp(0.1 * rng.normal(size=mode.tau.shape))
        assert prior.log_density(PriorParams(mode.theta * factors[0], mode.phi * factors[1], tau, bias)) < best


def test_log_density_is_the_sum_of_textbook_densities():
    prior = Hyperprior(3.0, 2.0, bias_sd=0.5)
    params = PriorParams(0.7, 1.3, [[0.2, 0.4], [0.6, 0.8]], [0.3, -0.1])

    def gamma(x, rate):
        return math.log(rate**3 / 2 * x**2 * math.exp(-rate * x))

    def normal(x):
        return math.log(math.exp(-(x**2) / (2 * 0.25)) / math.sqrt(2 * math.pi * 0.25))

    expected = (
        gamma(0.7, 2) + gamma(1.3, 2) + sum(gamma(x, 4) for x in (0.2, 0.4, 0.6, 0.8)) + normal(0.3) + normal(-0.1)
    )
    assert prior.log_density(params) == pytest.approx(expected, rel=1e-12)

"""As published against exact: the released error, the samples' shortfall, and error at equal cost."""

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.densities import log_dirichlet_multinomial
from quorate.errors import InvalidInput
from quorate.paper import published_variants
from quorate.paper.as_published import importance_log_likelihood, importance_samples, stream, winner_finite
from quorate.paper.jobs import Job, JobOutcome
from quorate.paper.published_variants import released_confidence, released_example, rows_of, shortfall
from quorate.paper.report import Context
from quorate.paper.sweep import run_job
from quorate.streams import prepare


def test_the_released_code_is_two_thirds_sure_where_it_should_be_almost_certain():
    right, released = released_confidence()
    assert right == pytest.approx(0.992, abs=0.001)
    assert released == pytest.approx(0.651, abs=0.001)


@pytest.mark.parametrize("forget_votes", [False, True])
def test_monte_carlo_agrees_with_the_exact_confidence_with_and_without_the_released_error(forget_votes):
    alpha, votes = released_example()
    exact = released_confidence()[forget_votes]
    size = 100_000
    sampled = winner_finite(
        alpha, votes, pool_size=6, num_samples=size, rng=np.random.default_rng(1), forget_votes=forget_votes
    )[0]
    assert abs(sampled - exact) < 4 * np.sqrt(exact * (1 - exact) / size)


def test_a_thousand_importance_samples_miss_the_likelihood_of_a_sharp_prior():
    exact, sampled = shortfall()
    alpha, votes = np.full(16, 0.01), np.eye(16, dtype=np.int64)[0]
    alpha[0] = 1.5
    assert exact == pytest.approx(float(log_dirichlet_multinomial(votes, alpha)))
    assert sampled < exact - 1


def test_enough_importance_samples_do_reach_it():
    alpha, votes = np.full((1, 16), 0.01), np.zeros((1, 16), dtype=np.int64)
    alpha[0, 0], votes[0, 0] = 1.5, 1
    rng = np.random.default_rng(2)
    found = [
        np.exp(importance_log_likelihood(alpha, importance_samples(votes, pool_size=6, num_samples=100_000, rng=rng)))
        for _ in range(10)
    ]
    standard_error = np.std(found, ddof=1) / np.sqrt(10)
    assert abs(np.mean(found) - 1.5 / 1.65) < 4 * standard_error


def test_where_the_prior_is_mild_samples_and_closed_form_ask_alike():
    data = synthetic(num_items=60, num_classes=3, pool_size=5, accuracy=0.6, seed=4)
    given = prepare(data, 5, 0, 3)
    costs = [
        stream(given.votes, given.mean_predictions, method="finexp", pool_size=5, threshold=0.8, likelihood=likelihood,
               rng=np.random.default_rng(seed), num_samples=500).costs.mean()
        for likelihood, seed in (("sampled", 0), ("closed", 1), ("closed", 2))
    ]  # fmt: skip
    assert abs(costs[0] - np.mean(costs[1:])) < 0.3


def test_a_likelihood_that_does_not_exist_is_refused():
    data = synthetic(num_items=40, num_classes=3, pool_size=5, seed=4)
    parameters = ((("likelihood", "guessed"), ("threshold", 0.8)),)
    job = Job("toy", 5, data.models[0], 3, "finexp", parameters, variant="as-published")
    with pytest.raises(InvalidInput, match=r"^likelihood='guessed'"):
        run_job(job, data)


def straight_line(job):
    """An outcome whose error falls from 30 % at no votes to 10 % at four; the published variants err 2 points more.

    The released one stops at two votes.
    """
    size = len(job.parameters)
    costs = np.linspace(0, 2.5 if job.method == "finexp-released" else 4, size)[:, None]
    errors = 0.3 - 0.05 * costs + (0.02 if job.variant == "as-published" else 0.0)
    empty = np.zeros((size, 0))
    return JobOutcome(job, np.array([10]), costs, errors, errors, errors, empty, empty, empty, seconds=2.0 * size)


@pytest.fixture
def asked():
    return []


@pytest.fixture
def context(asked):
    data = synthetic(num_items=40, num_classes=3, pool_size=5, seed=4)

    def run(jobs):
        asked.extend(jobs)
        return {job: straight_line(job) for job in jobs}

    return Context({"imagenet16h_shift": data}, (3,), False, run)


def test_all_curves_have_the_same_knots_and_are_read_at_common_budgets_only(context, asked):
    rows = rows_of(context, context.datasets["imagenet16h_shift"].models[0])
    assert {tuple(dict(parameters)["threshold"] for parameters in job.parameters) for job in asked} == {
        published_variants.KNOTS
    }
    assert [row.budget for row in rows if row.method == "finexp"] == list(published_variants.BUDGETS)
    assert [row.budget for row in rows if row.method == "finexp-released"] == [0.5, 1.0, 2.0]
    for row in rows:
        assert row.exact == pytest.approx(30 - 5 * row.budget)
        assert row.published == pytest.approx(row.exact + 2)


def test_one_seed_is_measured_and_claims_nothing(context):
    section = published_variants.section(context)
    assert section.claims == ()
    assert "FinExp with the released counting error +2.00 (mean over 3 of 4 budgets)" in section.lead[1]
    assert not any("seconds" in head for table in section.tables for head in table.heads)


def test_the_cautions_name_what_of_the_release_is_not_varied(context):
    said = " ".join(published_variants.section(context).cautions)
    for part in ("window of 100", "mean over the window", "RANDOM redrawn", "log2 K", "Adam settings"):
        assert part in said
    assert "closed likelihood" in said


def test_without_the_data_the_section_says_so():
    context = Context({}, (3,), True, lambda jobs: {})
    assert "was not found" in published_variants.section(context).lead[0]

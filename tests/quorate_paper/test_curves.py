import math

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.reports.section import Section
from quorate_paper import curves
from quorate_paper.curve_claims import claims, paired
from quorate_paper.curve_panels import CurvePanel, SeedCurve
from quorate_paper.report import Context
from quorate_paper.sweep import run_job


def context(**datasets) -> Context:
    return Context(datasets, (3, 4), True, lambda jobs: {job: run_job(job, datasets[job.data]) for job in jobs})


@pytest.fixture(scope="module")
def result() -> Section:
    items = {"num_items": 300, "num_classes": 4, "agreement": 0.7}
    return curves.section(
        context(
            chaosnli=synthetic(pool_size=12, seed=1, **items),
            imagenet16h_shift=synthetic(pool_size=6, seed=2, shift_accuracy=0.3, **items),
        )
    )


def test_every_method_of_the_paper_has_a_curve_and_an_area(result):
    rows = result.summary["auc"]
    assert {row["method"] for row in rows} == set(curves.METHODS)
    assert all(0 < row["auc"] < 1 for row in rows)
    assert all(row["ratio_to_finexp"] == pytest.approx(1) for row in rows if row["method"] == "finexp")


def test_asking_at_random_is_worse_than_finexp(result):
    ratios = [row["ratio_to_finexp"] for row in result.summary["auc"] if row["method"] == "random"]
    assert min(ratios) > 1


def test_without_data_it_says_so():
    assert "No data set" in curves.section(context()).lead[0]


def test_several_classifiers_are_fused_for_value_alone():
    data = synthetic(num_items=60, pool_size=3, num_classes=3, seed=5)
    both = type(data)(**{name: getattr(data, name) for name in data.__slots__} | {
        "predictions": np.concatenate([data.predictions, data.predictions]), "models": ("one", "two")})  # fmt: skip
    setups = curves.setups(context(cifar10h=both))
    fused = [setup for setup in setups if setup.model == "all"]
    assert {setup.pool_size for setup in fused} == {3, 10}
    assert {job.method for setup in fused for job in curves.jobs_of(setup, context(cifar10h=both))} == {
        "value", "until-settled"}  # fmt: skip


def toy(family: str, heights: dict[str, float], pool_size: int = 6) -> CurvePanel:
    streams = {
        name: tuple(SeedCurve(np.array([0.0, 4.0]), np.array([height + 0.001 * seed, 0.0])) for seed in range(3))
        for name, height in heights.items()
    }
    return CurvePanel(family, pool_size, "toy", 0.5, streams, np.full(3, 4.0), np.zeros(3))


HEIGHTS = {"random": 0.5, "entropy": 0.5, "mp": 0.5, "mp-released": 0.5, "fixed-finexp": 0.3, "fixed-infexp": 0.45,
           "infexp": 0.4, "finexp": 0.41, "value": 0.3}  # fmt: skip


def held(*panels):
    return {claim.text[:30]: claim.holds for claim in claims(panels)}


def test_a_method_above_a_baseline_breaks_the_claim():
    text = "For ImageNet-16H we see that the FinExp"[:30]
    assert held(toy("imagenet16h", HEIGHTS))[text] is True
    assert held(toy("imagenet16h", HEIGHTS | {"infexp": 0.6}))[text] is False


def test_finexp_underperforms_only_if_its_area_is_larger_in_every_setting():
    text = "In all settings we notice a tendency"[:30]
    assert held(toy("imagenet16h", HEIGHTS))[text] is True
    assert held(toy("imagenet16h", HEIGHTS), toy("imagenet16h", HEIGHTS | {"finexp": 0.3}, 3))[text] is False


def test_finexp_far_below_random_is_no_small_margin():
    text = "FinExp also outperforms all baselines"[:30]
    assert held(toy("cifar10h", HEIGHTS | {"finexp": 0.2}, 50))[text] is False
    assert held(toy("cifar10h", HEIGHTS | {"finexp": 0.49}, 50))[text] is True


def test_what_cannot_be_tested_says_why():
    untested = [claim for claim in claims([toy("chaosnli", HEIGHTS, 100)]) if claim.holds is None]
    assert untested and all(claim.source and claim.measured for claim in untested)


def test_an_area_of_value_above_finexps_breaks_our_own_check():
    (own,) = [claim for claim in claims([toy("chaosnli", HEIGHTS | {"value": 0.43}, 100)]) if not claim.source]
    assert own.holds is False


def test_paired_differences_of_one_stream_have_no_standard_error():
    one = toy("imagenet16h", HEIGHTS)
    single = CurvePanel(
        "imagenet16h", 6, "toy", 0.5, {k: v[:1] for k, v in one.methods.items()}, np.full(1, 4.0), np.zeros(1)
    )
    mean, error = paired([single], "finexp", "random")
    assert (mean < 0).all() and all(math.isnan(e) for e in error)

import numpy as np
import pytest

from quorate_paper.curve_panels import CurvePanel, SeedCurve, smooth


def panel(**methods: tuple[SeedCurve, ...]) -> CurvePanel:
    seeds = len(next(iter(methods.values())))
    return CurvePanel("cifar10h", 10, "toy", 0.5, methods, np.full(seeds, 4.0), np.full(seeds, 0.1))


def line(end: float, height: float = 1.0) -> SeedCurve:
    """Error falls from `height` at no cost to 0 at cost `end`."""
    return SeedCurve(np.array([0.0, end]), np.array([height, 0.0]))


def test_equal_curves_have_ratio_one():
    one = panel(finexp=(line(4.0),), value=(line(4.0),))
    assert one.ratios("value") == pytest.approx([1.0])
    assert one.inner_ratios("value") == pytest.approx([1.0])


def test_half_the_error_everywhere_is_ratio_one_half():
    one = panel(finexp=(line(4.0, 1.0),), value=(line(4.0, 0.5),))
    assert one.ratios("value") == pytest.approx([0.5])
    assert one.inner_ratios("value") == pytest.approx([0.5])
    assert one.auc("finexp") == pytest.approx([0.5])


def test_the_common_range_ends_where_the_cheaper_curve_does():
    # over 0..2 the reference falls from 1 to 0.5 (mean 0.75), ours from 1 to 0 (mean 0.5)
    one = panel(finexp=(line(4.0),), value=(line(2.0),))
    assert one.ratios("value") == pytest.approx([0.5 / 0.75])


def test_a_method_that_stops_early_keeps_its_last_error():
    early = SeedCurve(np.array([0.0, 2.0]), np.array([1.0, 0.2]))
    one = panel(finexp=(line(4.0),), value=(early,))
    assert one.auc("value") == pytest.approx([(0.6 * 2 + 0.2 * 2) / 4])
    assert early.at(np.array([3.0])) == pytest.approx([0.2])
    assert np.isnan(early.reached(np.array([3.0]))).all()


def test_errors_are_read_at_shares_of_the_until_settled_cost():
    one = panel(finexp=(line(4.0), line(4.0, 0.5)))
    assert one.errors_at("finexp", np.array([0.0, 0.5])) == pytest.approx(np.array([[1.0, 0.5], [0.5, 0.25]]))


@pytest.mark.parametrize("points", [1, 2, 3])
def test_a_smooth_line_through_few_runs_is_no_error(points):
    costs, _ = smooth([SeedCurve(np.arange(points, dtype=float), np.linspace(0.3, 0.1, points))])
    assert len(costs) <= points

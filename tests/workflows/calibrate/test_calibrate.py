"""Calibrated and uncalibrated confidences are distinguished; the parts add up; real sets match the docs."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import quorate
from quorate.datasets import load_npz, synthetic
from quorate.errors import InvalidInput, MissingExtra
from quorate.reports import figures
from quorate.workflows.calibrate import calibrate
from quorate.workflows.calibrate import report as calibrate_report
from quorate.workflows.calibrate.measure import calibration_error, class_scores, equal_mass, honesty, wilson
from quorate.workflows.calibrate.report import page, write_calibration


def measured(confidence, right, **more):
    known = more.pop("known", np.zeros(len(confidence), bool))
    return honesty("x", confidence, np.asarray(right, float), known=known, seed=1, **more)


def test_an_honest_predictor_is_found_honest_and_a_boaster_is_not():
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, size=3000)
    honest = measured(sure, rng.random(3000) < sure)
    boaster = measured(np.minimum(sure + 0.05, 1), rng.random(3000) < sure)
    shy = measured(sure - 0.05, rng.random(3000) < sure)
    assert honest.is_honest and honest.ece < honest.ece_honest_high
    assert not boaster.is_honest and boaster.gap == pytest.approx(0.05, abs=0.02)
    assert not shy.is_honest and shy.gap < -0.03 and shy.ece > shy.ece_honest_high


def test_the_p_value_of_honest_predictors_is_below_five_percent_in_about_five_of_a_hundred():
    rng = np.random.default_rng(5)
    low = [not measured(sure := rng.uniform(0.6, 1, 200), rng.random(200) < sure).is_honest for _ in range(60)]
    assert sum(low) <= 9  # 3 expected; 10 or more once in a thousand


def test_chance_alone_gives_more_error_on_fewer_items():
    rng = np.random.default_rng(1)
    sure = rng.uniform(0.8, 1, size=4000)
    right = rng.random(4000) < sure
    few, many = measured(sure[:100], right[:100]), measured(sure, right)
    assert few.ece_honest > 3 * many.ece_honest > 0


def test_settled_items_add_no_noise():
    sure = np.array([1.0] * 50 + [0.5] * 50)
    right = np.array([1.0] * 50 + [0.5] * 50)  # ties: right by half, known
    found = measured(sure, right, known=np.ones(100, bool))
    assert (found.ece, found.ece_honest, found.p_value) == (0, 0, 1)


def test_bins_are_even_and_equal_confidences_stay_together():
    sure = np.concatenate([np.full(500, 1.0), np.linspace(0.5, 0.9, 500)])
    bins = equal_mass(sure, 10)
    assert len(set(bins[:500])) == 1
    sizes = np.bincount(bins)[:-1]
    assert sizes.sum() == 500 and sizes.max() <= 101
    assert np.array_equal(np.argsort(sure, kind="stable")[:500], np.arange(500, 1000))
    assert (np.diff(bins[500:]) >= 0).all()


def test_few_decisions_have_few_bins():
    found = measured(np.linspace(0.5, 1, 25), np.ones(25))
    assert [each.num for each in found.bins] == [12, 13] or [each.num for each in found.bins] == [13, 12]


def test_the_error_is_the_weighted_distance_of_the_bins():
    rng = np.random.default_rng(2)
    sure, right = rng.uniform(size=300), rng.integers(0, 2, size=300).astype(float)
    found = measured(sure, right)
    by_hand = sum(each.num * abs(each.right - each.confidence) for each in found.bins) / 300
    assert found.ece == pytest.approx(by_hand) == pytest.approx(calibration_error(sure, right, equal_mass(sure, 10)))
    assert sum(each.num for each in found.bins) == 300
    assert all(each.right_low <= each.right <= each.right_high for each in found.bins)


def test_brier_and_log_score_average_over_ties():
    found = measured(np.array([0.8, 0.6]), [1.0, 0.5])
    assert found.brier == pytest.approx((0.04 + 0.5 * 0.16 + 0.5 * 0.36) / 2)
    assert found.log_score == pytest.approx(-(np.log(0.8) + 0.5 * np.log(0.6) + 0.5 * np.log(0.4)) / 2)
    brier, log_score = class_scores(np.array([[0.7, 0.2, 0.1]]), np.array([[0.5, 0.5, 0.0]]))
    truths = [np.sum((np.array([0.7, 0.2, 0.1]) - np.eye(3)[k]) ** 2) for k in (0, 1)]
    assert brier == pytest.approx(np.mean(truths))
    assert log_score == pytest.approx(-(np.log(0.7) + np.log(0.2)) / 2)


def test_the_interval_of_a_share_covers_it():
    low, high = wilson(1.0, 10)
    assert high == pytest.approx(1) and low == pytest.approx(0.722, abs=1e-3)


def drawn_from_the_model(num_items=1500, pool_size=9, seed=0):
    """Votes drawn as the model says, so that an exact posterior must be honest."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(3, 0.6), size=num_items)
    alpha = quorate.concentration(quorate.PriorParams(3.0, 0.3, np.ones(3)), probs)
    shares = np.array([rng.dirichlet(row) for row in alpha])
    votes = [rng.choice(3, size=pool_size, p=row) for row in shares]
    return quorate.datasets.vote_dataset(np.array(votes), probs, classes=["a", "b", "c"])


@pytest.mark.parametrize("method", ["value", "finexp"])
def test_on_votes_drawn_from_the_model_exact_confidence_is_honest(method):
    found = calibrate(drawn_from_the_model(), method=method, prefixes=True)
    assert found.early.ece < found.early.ece_honest_high + 0.005
    assert abs(found.prefixes[0].gap) < 0.02


def test_the_groups_are_parts_of_the_whole_and_prefixes_begin_before_any_vote():
    data = synthetic(num_items=600, pool_size=5, seed=3)
    found = calibrate(data, method="finexp", prefixes=True, seed=2)
    run = quorate.simulate(data, "finexp", model="all", seed=2)
    early = [reason not in ("settled", "exhausted") for reason in run.reasons]
    assert found.early.num == sum(early) and found.every.num == 600
    assert found.every.right == pytest.approx(1 - run.error_rate)
    assert found.every.confidence == pytest.approx(run.confidence.mean())
    assert sum(each.num for each in found.by_stage) == found.early.num
    assert sum(each.num for each in found.by_votes) <= found.early.num
    assert found.prefixes[1].name == "before any vote" and found.prefixes[1].num == 600
    assert found.prefixes[0].num == sum(each.num for each in found.prefixes[1:])
    assert found.brier > 0 and found.log_score > 0


def test_tables_and_arrays_say_the_same(tmp_path):
    data = synthetic(num_items=200, pool_size=5, seed=3)
    votes, probs = tmp_path / "votes.csv", tmp_path / "probs.csv"
    with votes.open("w", newline="") as text:
        rows = [(t, n, data.classes[k]) for t, row in enumerate(data.votes) for n, k in enumerate(row)]
        csv.writer(text).writerows([("task", "worker", "label"), *rows])
    with probs.open("w", newline="") as text:
        rows = [(t, *map(repr, map(float, row))) for t, row in enumerate(data.predictions[0])]
        csv.writer(text).writerows([("id", *data.classes), *rows])
    one, two = calibrate(votes, probs), calibrate(data)
    assert one.every.num == two.every.num == 200
    assert one.every.ece == pytest.approx(two.every.ece) and one.mean_cost == pytest.approx(two.mean_cost)


def test_an_own_policy_is_judged_like_any_other():
    class Twice(type(quorate.method("quorum").policy)):
        """A subclass has no compiled rule."""

    data = synthetic(num_items=120, pool_size=5, seed=1)
    own, ours = (
        calibrate(data, method=policy, prefixes=True) for policy in (Twice(2), type(quorate.method("quorum").policy)(2))
    )
    assert own.every.num == 120
    assert own.brier == pytest.approx(ours.brier)
    assert [each.num for each in own.prefixes] == [each.num for each in ours.prefixes]


def test_when_nothing_stops_early_that_is_said():
    found = calibrate(synthetic(num_items=60, pool_size=3, seed=1), method="until-settled")
    assert found.early is None and "no confidence to check" in found.verdict
    assert found.every.ece == pytest.approx(0, abs=1e-12)
    assert "no confidence to check" in page(found)


def test_mistakes_are_named():
    data = synthetic(num_items=60, pool_size=3, seed=1)
    for wrong, field in (({"num_bins": 0}, "num_bins"), ({"predictions": "probs.csv"}, "predictions")):
        with pytest.raises(InvalidInput) as caught:
            calibrate(data, **wrong)
        assert (caught.value.field, caught.value.value) == (field, wrong[field])


def test_the_report_has_a_picture_the_groups_and_the_bins(tmp_path):
    found = calibrate(synthetic(num_items=300, pool_size=5, seed=3))
    files = write_calibration(found, tmp_path / "out")
    assert [file.name for file in files] == ["calibration.json", "report.html", "reliability.png", "reliability.svg"]
    content = json.loads(files[0].read_text())
    assert content["early"]["num"] == found.early.num and content["verdict"] == found.verdict
    text = files[1].read_text()
    assert "data:image/svg+xml" in text and "stopped early" in text and "http" not in text.replace("http://www.w3", "")
    assert files[2].read_bytes() == write_calibration(found, tmp_path / "again")[2].read_bytes()


def test_a_calibration_is_not_overwritten_unasked_and_one_that_fails_leaves_the_old_files(tmp_path, monkeypatch):
    found = calibrate(synthetic(num_items=100, pool_size=5, seed=3))
    files = write_calibration(found, tmp_path / "out")
    before = [file.read_bytes() for file in files]
    with pytest.raises(InvalidInput, match="overwrite"):
        write_calibration(replace(found, seed=9), tmp_path / "out")
    with monkeypatch.context() as broken:
        broken.setattr(calibrate_report, "page", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_calibration(replace(found, seed=9), tmp_path / "out", overwrite=True)
    assert [file.read_bytes() for file in files] == before
    write_calibration(replace(found, brier=float("nan")), tmp_path / "out", overwrite=True)
    assert json.loads(files[0].read_text(), parse_constant=pytest.fail)["brier"] is None
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(file.name for file in files)


def test_without_matplotlib_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "can_plot", lambda: False)
    found = calibrate(synthetic(num_items=100, pool_size=5, seed=3))
    assert len(write_calibration(found, tmp_path)) == 2
    assert "pip install" in (tmp_path / "report.html").read_text()
    with pytest.raises(MissingExtra, match="matplotlib"):
        found.plot()


@pytest.mark.parametrize(
    ("file", "pool_size"),
    [("cifar10h", 10), ("imagenet16h_shift", None), ("chaosnli_snli", None)],
)
def test_on_real_sets_quorate_is_honest_to_two_points(data_dir, file, pool_size):
    found = calibrate(load_npz(data_dir / f"{file}.npz"), pool_size=pool_size, model=0)
    assert found.every.ece <= 0.02


@pytest.mark.parametrize("count", [37, 113, 250, 800])
def test_a_bin_that_is_all_right_can_be_drawn(count):
    low, high = wilson(1.0, count)
    assert low <= 1.0 <= high + 1e-12
    votes = np.zeros((count, 3), dtype=int)
    votes[::2] = 1
    sure = np.where(votes[:, :1] == 0, [[0.97, 0.03]], [[0.03, 0.97]])
    data = quorate.datasets.vote_dataset(votes, sure, classes=["a", "b"])
    calibrate(data, method="value").plot()

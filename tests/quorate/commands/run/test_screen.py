"""One screen: warnings, the answer, the trade-off, three notes; the figures of extra replays; what the result holds."""

import json

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate.commands.run import run, tradeoff
from quorate.commands.run.screen import HEIGHT, WIDTH, screen
from tests.quorate.commands.run import run_data

DATA = run_data.stream(num_items=400, pool_size=7, num_classes=4, accuracy=0.7, agreement=0.7, seed=4)
COSTS = {DATA.classes[1]: {DATA.classes[0]: 1000.0}}


def shown(result):
    return screen(result.summary(), "results")


@pytest.mark.parametrize(
    "options",
    [
        {}, {"budget": 2.5, "price": 0.08}, {"budget": 99.0}, {"target_error": 0.08, "pool_size": 9},
        {"threshold": 0.9}, {"error_cost": COSTS}, {"method": "quorum"}, {"pool_size": 5}, {"max_votes": 0},
    ],
    ids=str,
)  # fmt: skip
def test_every_run_is_one_screen_of_24_lines_and_100_columns(options):
    lines = shown(run(DATA, order="given", **options))
    assert len(lines) <= HEIGHT == 24 and max(map(len, lines)) <= WIDTH == 100
    assert lines[-1].endswith("Report: results/report.html")
    assert "votes per item instead of" in lines[0]
    table = [line for line in lines if line.startswith(" ")]
    assert len(table) == (6 if "(this run)" in "".join(table) else 4)


def test_warnings_come_before_the_answer():
    stopped = np.array(DATA.votes)
    stopped[(stopped[:, 0] == stopped[:, 1]), 2:] = -1  # two that agree were enough: the size tells the answer
    probs, swapped = DATA.predictions[0], DATA.predictions[0][:, [1, 0, 2, 3]]
    ordered = np.sort(np.array(DATA.votes))
    for votes, predictions, said in (
        (stopped, probs, "2 to 7 votes"), (DATA.votes, swapped, "'class-0' fits 'class-1'"), (ordered, probs, "sorted")
    ):  # fmt: skip
        lines = shown(run(np.array(votes), predictions, classes=DATA.classes, order="time"))
        assert lines[0].startswith("Warning") and said in " ".join(lines[:2]) and len(lines) <= HEIGHT
    assert not run(np.array(DATA.votes), probs, classes=DATA.classes).summary()["warnings"]
    assert not run(stopped, probs, classes=DATA.classes, order="given", pool_size=7).summary()["warnings"]


def test_the_trade_off_is_what_runs_at_those_settings_give():
    result = run(DATA, order="given")
    found = result.tradeoff
    assert found.this_run.error_cost == 200 and found.items == 400
    for cost, point in ((50, found.cheaper), (800, found.dearer)):
        other = run(DATA, order="given", error_cost=cost)
        assert (point.error_cost, point.votes, point.error) == (cost, other.votes_per_item, other.error)
    alone = run(np.array(DATA.votes), classes=DATA.classes, order="given")
    assert (found.without_classifier.votes, found.without_classifier.error) == (alone.votes_per_item, alone.error)
    assert (found.with_classifier.votes, found.with_classifier.error) == (result.votes_per_item, result.error)
    assert alone.tradeoff.with_classifier is None
    settled = run(DATA, order="given", method="until-settled")
    assert found.until_settled.votes == settled.votes_per_item
    assert found.until_settled.error == pytest.approx(settled.error)
    assert settled.tradeoff.cheaper is None


def test_the_extra_replays_of_a_long_stream_use_a_sample_and_say_so(monkeypatch):
    monkeypatch.setattr(tradeoff, "MOST_ITEMS", 100)
    result = run(DATA, order="given")
    assert result.tradeoff.items == 100 and len(result.items) == 400
    assert "Other settings were replayed on 100 items, drawn by seed." in " ".join(shown(result))
    assert run(DATA, order="given").tradeoff == result.tradeoff


def test_incomplete_pools_have_a_bound_beside_the_error():
    result = run(DATA, order="given", pool_size=9)
    error, pools = result.summary()["error"], result.summary()["pools"]
    worst = 100 * (error["wrong"] + pools["not_scored"]) / 400
    assert pools["not_scored"] > 0
    assert f"{worst:.1f} % if every incomplete, unsettled item is counted as wrong" in result.headline


def test_with_a_table_of_costs_the_first_line_adds_their_mean_and_the_recall():
    result = run(DATA, order="given", error_cost=COSTS)
    realised = result.summary()["error_cost"]["realised_per_item"]
    assert f"Cost of errors: {realised:.2f} votes per item; recall: {DATA.classes[1]}" in result.headline
    assert "these costs  (this run)" in "\n".join(shown(result))


def test_the_result_holds_the_figures_and_writes_its_files_when_asked(tmp_path):
    result = run(DATA, order="given", price=0.5)
    summary = result.summary()
    assert repr(result).startswith("RunResult of value: ") and result.headline in repr(result)
    assert result.votes_per_item == summary["votes"]["per_item"] and result.error == summary["error"]["rate"]
    assert result.saved == summary["votes"]["saved_against_ask_all"]
    assert result.recall == {row["class"]: row["found"] for row in summary["per_class"]}
    history = result.history
    assert isinstance(history, pa.Table) and history.num_rows == summary["learned"]["fits"]
    assert history["theta"].to_pylist()[-1] == summary["learned"]["theta"] == result.params.theta
    files = result.save(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["warnings"] == []
    assert {file.name for file in files} >= {"report.html", "summary.json"}
    assert "<table>" in result._repr_html_()
    with pytest.raises(quorate.errors.InvalidInput):
        result.save(tmp_path / "out")


def test_the_report_has_at_most_six_notes():
    page = run(DATA.votes[:60], DATA.predictions[0, :60], classes=DATA.classes, order="given", target_error=0.05,
               pool_size=9).to_html()  # fmt: skip
    head = page[: page.index("<main>")]
    assert 0 < head.count("<li>") - head.count('<li><a href="#') <= 6

"""What a run says beside its figures: pools that tell the answer, a default that saves little, targets too fine."""

import json

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.workflows.run import run
from quorate.workflows.run.report import document
from quorate.workflows.run.summary import item_errors
from tests.workflows.run import run_data


@pytest.fixture(scope="module")
def long_stream():
    return run_data.stream(num_items=400, pool_size=7, num_classes=4, accuracy=0.7, agreement=0.7, seed=4)


def test_pools_that_were_stopped_early_are_warned_of_unless_their_size_is_said(tmp_path):
    """Where N is what a rule left, N tells the method the answer: it saves on paper what nobody could save."""
    data = run_data.stream()
    stopped = np.array(data.votes)
    stopped[(stopped[:, 0] == stopped[:, 1]), 2:] = -1  # two that agree were enough
    probs = data.predictions[0]
    result = run(stopped, probs, classes=data.classes, order="given", out=tmp_path / "out")
    (warned,) = [note for note in result.notes() if "recorded for it, 2 to 5" in note]
    assert "savings are overstated" in warned
    assert "`--pool-size N`" in warned
    assert warned in json.loads((tmp_path / "out" / "summary.json").read_text())["notes"]
    assert "savings are overstated" in (tmp_path / "out" / "report.html").read_text()
    for votes, options in ((stopped, {"pool_size": 5}), (np.array(data.votes), {})):
        quiet = run(votes, probs, classes=data.classes, order="given", **options)
        assert not any("overstated" in note for note in quiet.notes())


@pytest.mark.parametrize("with_predictions", [True, False])
def test_a_run_says_how_many_items_were_answered_without_any_vote(with_predictions):
    data = run_data.stream(num_items=200, accuracy=0.9, agreement=0.9)
    probs = data.predictions[0] if with_predictions else None
    result = run(np.array(data.votes), probs, classes=data.classes, method="value:error_cost=10")
    none, asked = result.summary()["without_votes"], result.table.column("num_votes").to_pylist()
    assert none["items"] == asked.count(0) and (none["items"] > 0) == with_predictions
    said = [note for note in result.notes() if "without any vote" in note]
    assert len(said) == with_predictions and all(str(none["items"]) in note for note in said)
    assert list(document(result).notes) == result.notes()
    if with_predictions:
        wrong = [error for error, votes in zip(item_errors(result), asked, strict=True) if votes == 0]
        assert none["rate"] == pytest.approx(np.mean(wrong)) and none["scored_items"] == none["items"]
        assert run(np.array(data.votes), probs, classes=data.classes, min_votes=1).summary()["without_votes"] == {
            "items": 0,
            "scored_items": 0,
            "rate": None,
        }


def test_a_default_run_that_saves_next_to_nothing_says_where_cheaper_settings_are():
    """No classifier, divided experts: the default asks nearly until settled. Said of the default only."""
    hard = run_data.stream(num_items=200, pool_size=3, accuracy=0.4, agreement=0.4)

    def told(**options):
        result = run(hard, order="given", **options)
        saved = result.summary()["votes"]["saved_against_until_settled"]
        return saved, [note for note in result.notes() if "The default is cautious" in note]

    saved, (note,) = told()
    assert saved < 0.02
    assert "`quorate plan`" in note
    assert "`--budget`" in note
    assert told(method="until-settled")[1] == told(budget=1.0)[1] == told(method="value:error_cost=500")[1] == []
    easy = run(run_data.stream(num_items=200, accuracy=0.98, agreement=0.98), order="given")
    assert easy.summary()["votes"]["saved_against_until_settled"] > 0.02
    assert not any("cautious" in note for note in easy.notes())


def test_a_target_of_a_few_errors_is_said_to_be_hard_to_hold(long_stream):
    def few(target, rows):
        result = run(long_stream.votes[:rows], long_stream.predictions[0, :rows], classes=long_stream.classes,
                     order="given", target_error=target)  # fmt: skip
        return result, [note for note in result.notes() if "to hold closely" in note]

    short, (note,) = few(0.08, 50)
    assert "A target of 8.00 % of 50 items is 4.0 errors" in note
    assert "about 50 % of the target" in note
    assert short.summary()["control"]["proved"] is None
    assert short.summary()["control"]["estimate_supported"] is False
    assert few(0.08, 400)[1] == []


def test_audits_without_enough_recorded_votes_are_counted_in_a_note():
    data = synthetic(num_items=300, num_classes=3, pool_size=5, agreement=0.7, seed=4)
    votes = data.votes.copy()
    votes[::3, 3:] = -1
    for size, has_note in ((None, False), (5, True)):
        done = run(votes, data.predictions[0], target_error=0.05, pool_size=size, audit_rate=0.3)
        control = done.summary()["control"]
        assert (control["incomplete_audits"] > 0) == has_note
        counted = f"{control['incomplete_audits']} of {control['audited']} audits"
        assert any(counted in note for note in done.notes()) == has_note

"""A rare class: its errors are reported, warned about, and controlled by its own target."""

import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from quorate.cli.main import app
from quorate.errors import InvalidInput
from quorate.workflows.run import run
from quorate.workflows.run.summary import class_table_rows

CLASSES = ["normal", "abnormal"]


def rare(seed, num_items=1200, pool_size=9):
    """5 % abnormal, a classifier that is rarely confident in it."""
    rng = np.random.default_rng(seed)
    truth = rng.random(num_items) < 0.05
    score = rng.normal(size=num_items) + 1.2 * truth
    prob = 1 / (1 + np.exp(4.2 - 1.2 * score))
    said = np.where(truth, rng.beta(6, 3, num_items), 0.06)
    votes = (rng.random((num_items, pool_size)) < said[:, None]).astype(int)
    return votes, np.c_[1 - prob, prob]


@pytest.fixture(scope="module")
def plain():
    return run(*rare(1), classes=CLASSES, order="given", method="value:error_cost=10")


@pytest.fixture(scope="module")
def steered():
    return run(*rare(1), classes=CLASSES, order="given", target_error=0.04, class_targets={"abnormal": 0.1})


def test_a_class_that_is_mostly_missed_is_counted_shown_and_warned_of(plain):
    summary = plain.summary()
    row = summary["per_class"][1]
    assert row["missed"] == row["verdict"] - row["right"] > row["verdict"] / 2
    assert summary["error"]["rate"] < 0.05, "the headline is good"
    assert any("'abnormal'" in note for note in summary["notes"])
    assert any("--class-target" in note for note in summary["notes"])
    _, rows = class_table_rows(summary)
    assert [each[0] for each in rows] == CLASSES
    assert rows[1][3] == f"{100 * row['found']:.1f} %"


def test_the_suggested_target_can_be_typed_into_a_shell():
    name = "it's $HOME; ls"
    result = run(*rare(1, 400), classes=["normal", name], order="given", method="value:error_cost=10")
    (note,) = [each for each in result.summary()["notes"] if "--class-target" in each]
    assert shlex.split(note.split("`")[1]) == ["--target-error", "0.03", "--class-target", f"{name}=0.1"]


def test_a_class_target_steers_asking_and_answering(plain, steered):
    before, after = plain.summary(), steered.summary()
    assert after["per_class"][1]["missed"] <= 0.1 * after["per_class"][1]["verdict"]
    assert after["error"]["rate"] <= 0.04
    assert before["votes"]["total"] < after["votes"]["total"] < before["votes"]["until_settled"]
    assert not any("'abnormal' is mostly" in note for note in after["notes"])


def test_the_result_says_by_class_what_was_reached_and_whether_audits_support_it(steered):
    summary = steered.summary()
    (row,) = summary["control"]["classes"]
    assert (row["class"], row["asked_for"]) == ("abnormal", 0.1)
    missed = 1 - summary["per_class"][1]["found"]
    assert row["reached"] <= row["upper"]
    assert missed <= row["upper"]
    assert row["proved"] is None or missed <= row["proved"]
    assert row["supported"] == (row["proved"] is not None and row["proved"] <= 0.1)
    assert row["weight"] > 1


def test_when_every_open_item_is_audited_the_share_is_proved():
    result = run(*rare(2, 400), classes=CLASSES, order="given", target_error=0.1, audit_rate=1.0,
                 class_targets={"abnormal": 0.5})  # fmt: skip
    summary = result.summary()
    (row,) = summary["control"]["classes"]
    assert row["proved"] == pytest.approx(1 - summary["per_class"][1]["found"])
    assert summary["control"]["proved"] == pytest.approx(summary["error"]["rate"])
    assert row["supported"] == (row["proved"] <= 0.5)


def test_what_a_control_turns_is_not_listed_as_in_force(steered):
    method = steered.summary()["method"]
    assert "error_cost" not in method["parameters"]
    assert "error_cost" not in method["text"]
    assert method["turned"] == {"error_cost": "target error"}
    budget = run(*rare(1, 200), classes=CLASSES, order="given", budget=2.0).summary()
    assert budget["method"]["turned"] == {"error_cost": "budget"}
    assert "error_cost" not in budget["method"]["parameters"]
    free = run(*rare(1, 200), classes=CLASSES, order="given").summary()
    assert "error_cost" in free["method"]["parameters"]
    assert free["settings"]["control_speed"] is None


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"class_targets": {"abnormal": 0.1}}, "class_targets"),
        ({"sureness": 0.9}, "sureness"),
        ({"target_error": 0.1, "sureness": 1.0}, "sureness"),
        ({"target_error": 0.1, "class_targets": {"abnormall": 0.1}}, "class_targets"),
        ({"target_error": 0.1, "class_targets": {"abnormal": 0.0}}, "class_targets"),
    ],
)
def test_targets_that_make_no_sense_are_refused(options, field):
    with pytest.raises(InvalidInput) as caught:
        run(*rare(1, 50), classes=CLASSES, order="given", **options)
    assert caught.value.field == field


def test_the_command_refuses_a_class_target_that_is_not_class_and_share(tmp_path):
    told = CliRunner().invoke(
        app, ["run", "--votes", "v.csv", "--out", str(tmp_path / "o"), "--target-error", "0.1", "--class-target", "x"]
    )
    assert told.exit_code == 1

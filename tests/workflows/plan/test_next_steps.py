"""What to type to use a plan's setting: the line of Python runs, the service takes its project's settings."""

import itertools
import json
import shlex
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate.datasets import synthetic
from quorate.service.domain.settings import ProjectSettings
from quorate.workflows.plan import plan
from quorate.workflows.plan.next_steps import project_settings, session_code

PILOT = synthetic(num_items=60, pool_size=5, accuracy=0.85, seed=4)
FEW = {"orderings": 2, "draws": 100, "budget": 2.0}


@pytest.mark.parametrize("name", ["value", "finexp", "quorum"])
def test_the_line_of_python_begins_a_session_with_the_setting(name):
    made = plan(PILOT, methods=[name, "random"], **FEW)
    names = {"quorate": quorate}
    exec(session_code(made), names)
    settings = names["session"].settings
    assert settings["method"] == made.advice.setting.method.describe()
    assert (tuple(settings["classes"]), settings["pool_size"]) == (tuple(PILOT.classes), 5)


@pytest.mark.parametrize("costs", [None, {"p0": 2.5}])
def test_the_line_of_python_for_a_panel_names_its_members(costs):
    item, person = (each.ravel() for each in np.indices(PILOT.votes.shape))
    labels = [PILOT.classes[k] for k in PILOT.votes.ravel()]
    votes = {"task": item.astype(str), "worker": [f"p{n}" for n in person], "label": labels}
    made = plan(pa.table(votes), methods=["quorum"], costs=costs, **FEW)
    setting = replace(made.advice.setting, method=quorate.method("panel", error_cost=100))  # a plan for it takes longer
    made = replace(made, advice=replace(made.advice, setting=setting))
    names = {"quorate": quorate}
    exec(session_code(made), names)
    members = names["session"].settings["people"]["experts"]
    assert {each["name"]: each["cost"] for each in members} == {f"p{n}": 1.0 for n in range(5)} | (costs or {})
    assert names["session"].settings["pool_size"] == 5
    assert names["session"].settings["method"]["parameters"]["error_cost"] == 100


@pytest.mark.parametrize("name", ["value", "finexp", "quorum"])
def test_a_project_of_the_service_takes_the_settings(name):
    made = plan(PILOT, methods=[name, "random"], price=0.5, **FEW)
    told = json.loads(made.uses()["In the service, when a project is made by the API"])
    settings = ProjectSettings(classes=PILOT.classes, **told)
    assert settings.chosen_method() == made.advice.setting.method
    assert (settings.pool_size, settings.price) == (5, 0.5)


def test_what_cannot_be_used_there_is_not_named():
    assert project_settings(plan(PILOT, methods=["mp", "random"], **FEW)) is None
    costly = plan(PILOT, methods=["value", "random"], error_costs={"class-0": {"class-1": 5.0}}, **FEW)
    assert (session_code(costly), project_settings(costly)) == (None, None)
    assert list(costly.uses()) == ["On recorded votes"]


def test_many_classes_and_several_classifiers_fit_the_line():
    votes = np.random.default_rng(1).integers(0, 20, size=(40, 4))
    probs = np.full((2, 40, 20), 0.05)
    made = plan(votes, list(probs), methods=["value", "random"], **FEW)
    assert "classes=CLASSES, pool_size=4, num_classifiers=2)" in session_code(made)


def test_the_command_takes_one_file_per_source_and_none_twice(tmp_path):
    """An .npz may hold several models; files in different folders may have the same name."""
    votes = np.random.default_rng(1).integers(0, 3, size=(40, 4))
    probs, ids = np.full((2, 40, 3), 1 / 3), [str(t) for t in range(40)]
    np.savez(tmp_path / "nets.npz", probs=probs, ids=ids, models=["a", "b"], classes=["0", "1", "2"])
    sources = [tmp_path / "nets.npz"]
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        sources.append(tmp_path / folder / "net.npy")
        np.save(sources[-1], probs[0])
    for given, count in (
        (sources[:1], 1),
        (sources[1:], 2),
        (dict(zip(["x/net", "y/net"], sources[1:], strict=True)), 2),
    ):
        made = plan(votes, given, methods=["value", "random"], **FEW)
        words = shlex.split(made.command())
        files = [after for word, after in itertools.pairwise(words) if word == "--predictions"]
        assert len(files) == len(set(files)) == count


def test_the_parameter_is_told_as_what_an_error_costs_in_votes_and_money():
    made = plan(PILOT, methods=["value"], price=0.5, **FEW)
    gain = made.advice.setting.method.parameters["error_cost"]
    assert any(f"{1 / gain:,.0f} votes" in note and f"{0.5 / gain:,.2f}" in note for note in made.notes())
    assert not any("error costs" in note for note in plan(PILOT, methods=["quorum"], price=0.5, **FEW).notes())

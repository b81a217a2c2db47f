"""What knowing the experts is worth on a pilot."""

import shlex
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate.datasets import vote_dataset
from quorate.errors import InvalidInput
from quorate.methods import method
from quorate.streams.prepare import prepare
from quorate.streams.simulate import simulate_stream
from quorate.workflows.plan import advice, curves, forecast, people, plan
from quorate.workflows.plan.next_steps import session_code, spec
from quorate.workflows.plan.people import PeopleWorth, Tried, people_worth
from quorate.workflows.plan.report import expected_rows

ADVISED = method("value", error_cost=100)


def pilot(skills, *, num_items=200, named=True, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, num_items)
    guesses = rng.integers(0, 3, (num_items, len(skills)))
    votes = np.where(rng.random(guesses.shape) < np.array(skills), truth[:, None], guesses)
    voters = np.tile(np.arange(len(skills)), (num_items, 1)) if named else None
    return vote_dataset(votes, np.full((num_items, 3), 1 / 3), classes=["a", "b", "c"], voters=voters)


def worth(data, **options):
    return people_worth(data, ADVISED, **{"pool_size": None, "level": 0.9, "seed": 1} | options)


def test_people_of_different_skill_are_worth_knowing(monkeypatch):
    monkeypatch.setattr(people, "SCALES", (0.1, 1.0))
    found = worth(pilot((0.95, 0.95, 0.95, 0.3, 0.3, 0.3)))
    assert found is not None
    first = found.first
    assert first.saves > 0
    assert first.low <= first.saves <= first.high
    assert first.with_names == pytest.approx(found.without - first.saves)


def test_a_small_panel_is_tried_with_both_methods_that_know_people(monkeypatch):
    monkeypatch.setattr(people, "SCALES", (0.1, 1.0))
    found = worth(pilot((0.95, 0.95, 0.95, 0.3, 0.3, 0.3)))
    assert {one.method for one in found.tried} == {"panel", "value:choose=agreement"}
    best = max(found.tried, key=lambda one: one.saves)
    assert found.tried[0] == best
    told = found.describe()
    assert all(told[name] == getattr(best, name) for name in ("method", "with_names", "saves", "low", "high"))
    for one in found.tried:
        assert one.method in found.sentence() and f"{one.with_names:.2f}" in found.sentence()
        assert one.with_names == pytest.approx(found.without - one.saves)
    assert [one["method"] for one in told["tried"]] == [one.method for one in found.tried]


@pytest.mark.parametrize("own", ["panel", "value:choose=agreement"])
def test_the_method_that_was_planned_for_stands_first(own, monkeypatch):
    monkeypatch.setattr(people, "SCALES", (1.0,))
    monkeypatch.setattr(people, "DRAWS", 40)
    monkeypatch.setattr(people, "FEWEST_ITEMS", 20)
    data = pilot((0.95, 0.95, 0.3), num_items=30)
    found = people_worth(data, method(own), pool_size=None, level=0.9, seed=1)
    assert found.first.method == own and len(found.tried) == 2


def test_a_large_or_sparse_panel_is_tried_with_the_order_alone():
    small, large = pilot((0.9,) * 6), pilot((0.9,) * 7)
    assert people.is_small_panel(small) and not people.is_small_panel(large)
    assert not people.is_small_panel(pilot((0.9,) * 3, named=False))
    sparse = np.arange(600).reshape(200, 3) % 7
    votes = vote_dataset(np.zeros((200, 3), dtype=np.int64), np.full((200, 2), 0.5), classes=["a", "b"], voters=sparse)
    assert not people.is_small_panel(votes)
    thin = replace(pilot((0.9,) * 6), votes=np.where(np.arange(6) < 2, small.votes, -1))
    assert not people.is_small_panel(replace(thin, voters=np.arange(1200).reshape(200, 6) % 6))


def test_without_names_or_with_few_items_nothing_is_claimed():
    assert worth(pilot((0.9, 0.9, 0.9), named=False)) is None
    assert worth(pilot((0.9, 0.9, 0.9), num_items=50)) is None


def test_under_truth_items_of_known_class_are_used_first(quick, monkeypatch):
    monkeypatch.setattr(people, "MOST_ITEMS", 60)
    data = pilot((0.9, 0.8, 0.6), num_items=400)
    for known, scored in ((5, None), (40, 40), (80, 60)):
        truth = np.where(np.arange(400) < known, 0, -1)
        found = people_worth(
            replace(data, truth=truth), method("crowd"), pool_size=None, target="truth", level=0.9, seed=1
        )
        assert (found and found.num_scored) == scored


@pytest.mark.parametrize(
    ("costs", "errors", "saving"),
    [
        ([3.0, 2.0, 4.0], [0.1, 0.2, 0.0], 0.0),  # half-way between the two
        ([3.0, 2.0, 4.0], [0.2, 0.2, 0.0], 1.0),  # the cheaper one is good enough
        ([3.0, 2.0, 4.0], [0.1, 0.3, 0.2], -1.0),  # neither is: at least the dearer one is needed
        ([5.0, 2.0, 4.0], [0.1, 0.3, 0.2], 0.0),  # neither is, and cheap errors save nothing
        ([3.0, 4.0, 2.0], [0.1, 0.0, 0.2], 0.0),  # whatever their order
    ],
)
def test_a_curve_is_read_at_the_error_of_the_run_without_names(costs, errors, saving):
    assert people._saving(np.array(costs), np.array(errors)) == pytest.approx(saving)


def tables(skills, *, num_items=60, known=60, seed=0):
    """A long table of votes, the true classes of the first `known` items, and costs of two people."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, num_items)
    right = rng.random((num_items, len(skills))) < np.array(skills)
    votes = np.where(right, truth[:, None], 1 - truth[:, None])
    item, person = (each.ravel() for each in np.indices(votes.shape))
    names = {"task": [f"i{n}" for n in item], "worker": [f"p{n}" for n in person], "label": votes.ravel().astype(str)}
    told = {"task": [f"i{n}" for n in range(known)], "truth": truth[:known].astype(str)}
    return pa.table(names), pa.table(told)


@pytest.fixture
def quick(monkeypatch):
    """Fewer settings and resampled pilots: what is planned is the same."""
    monkeypatch.setattr(curves, "CROWD_THRESHOLDS", (0.7, 0.98))
    monkeypatch.setattr(forecast, "PILOTS", 3)
    monkeypatch.setattr(forecast, "RIVAL_PILOTS", 3)
    monkeypatch.setattr(forecast, "PEOPLE_LONGEST", 40)
    monkeypatch.setattr(people, "FEWEST_ITEMS", 20)
    monkeypatch.setattr(people, "SCALES", (1.0,))
    monkeypatch.setattr(people, "DRAWS", 40)


def test_a_plan_for_the_truth_counts_errors_against_the_true_classes(quick):
    votes, truth = tables((0.95, 0.9, 0.55, 0.55, 0.5))
    made = plan(votes, target="truth", truth=truth, methods=["crowd", "quorum"], orderings=2, draws=100)
    assert made.advice.setting.method.name == "crowd" and made.pilot.target == "truth"
    majority = _majority_error(votes, truth)
    assert made.floor == pytest.approx(majority, abs=1e-6), "what the plurality of all votes gets wrong"
    assert min(made.curves[0].errors) < majority, "who is good is known in the end"
    assert "--target truth" in made.command() and made.classifier is None
    assert made.people is not None and made.people.first.method == "crowd" and made.people.num_scored == 60
    assert made.summary()["settings"]["target"] == "truth" and made.summary()["project"] is None


def _majority_error(votes, truth):
    label = np.array(votes["label"].to_pylist()).reshape(-1, 5).astype(int)
    return np.mean((label.mean(axis=1) > 0.5) != np.array(truth["truth"].to_pylist()).astype(int))


def test_items_of_unknown_class_are_assumed_to_have_the_errors_of_the_others(quick):
    votes, truth = tables((0.95, 0.9, 0.55, 0.55, 0.5), known=30)
    made = plan(votes, target="truth", truth=truth, methods=["crowd"], orderings=2, draws=100)
    assert made.pilot.scored == 0.5 and made.pilot.most_counted == 2.0
    few = _majority_error(votes.slice(0, 30 * 5), truth)
    assert made.floor == pytest.approx(few, abs=1e-6)
    low, high = made.advice.errors.interval(0.9)
    assert low <= made.advice.errors.centre <= high


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("truth", {"target": "truth"}),  # none is given
        ("truth", {"truth": "here"}),  # but nothing is counted by it
        ("target", {"target": "truth", "methods": ["quorum"], "truth": "here"}),
        ("target", {"target": "everything"}),
        ("partly_voted", {"methods": ["value:choose=agreement"], "pool_size": 9}),
        ("costs", {"methods": ["quorum"], "pool_size": 9, "costs": {"p0": 3.0}}),
    ],
)
def test_plans_about_people_that_do_not_fit_are_refused(field, options):
    votes, truth = tables((0.9, 0.9, 0.6))
    options = options | ({"truth": truth} if "truth" in options else {})
    with pytest.raises(InvalidInput) as caught:
        plan(votes, **options)
    assert caught.value.field == field


def test_money_is_what_these_people_cost_and_so_is_the_share_of_it_that_is_saved():
    votes, _ = tables((0.9, 0.9, 0.9, 0.9), num_items=80)
    costs = {"p0": 10.0}
    made = plan(votes, methods=["quorum"], budget=2.0, orderings=2, draws=100, price=0.5, costs=costs)
    assert made.paid["ask-all"] == pytest.approx(10.0 + 3.0)
    summary = made.summary()["advice"]
    assert summary["money"]["ask_all"] == pytest.approx(0.5 * 13.0 * 80)
    paid = made.advice.setting.paid.mean / made.advice.setting.votes.mean
    assert summary["money"]["expected"] == pytest.approx(0.5 * 80 * paid * summary["votes_per_item"]["expected"])
    share = 1 - summary["money"]["expected"] / summary["money"]["ask_all"]
    assert summary["money_saved_against_ask_all"] == pytest.approx(share)
    heads = [row[0] for row in expected_rows(made)[1]]
    assert heads.index("money saved") > heads.index("money")
    usual = plan(votes, methods=["quorum"], budget=2.0, orderings=2, draws=100, price=0.5)
    assert usual.summary()["advice"]["money"]["ask_all"] == pytest.approx(0.5 * 4.0 * 80)
    assert "money saved" not in [row[0] for row in expected_rows(usual)[1]], "the share of the votes is that of money"


def test_the_setting_can_be_advised_for_a_method_that_knows_people(quick, monkeypatch):
    monkeypatch.setattr(advice, "PEOPLE_COSTS", (10.0, 1000.0))
    votes, _ = tables((0.95, 0.9, 0.6, 0.6, 0.55))
    made = plan(votes, methods=["value:choose=agreement", "quorum"], budget=3.0, orderings=2, draws=100)
    assert made.curves[0].name == "value:choose=agreement" and len(made.curves[0].settings) >= 2
    assert "choose=agreement" in made.command()
    assert made.people is not None and made.people.first.method == "value:choose=agreement"


def test_a_plan_for_a_panel_says_what_knowing_it_is_worth_without_being_asked(quick):
    votes, _ = tables((0.95, 0.9, 0.6, 0.6, 0.55))
    made = plan(votes, methods=["quorum"], budget=3.0, orderings=2, draws=100)
    assert {one["method"] for one in made.summary()["people"]["tried"]} == {"panel", "value:choose=agreement"}
    assert made.people.sentence() in made.notes()
    assert all(one.method in made.to_html() for one in made.people.tried)


def test_where_names_save_votes_the_plan_says_so_in_money_and_what_to_type(quick, monkeypatch):
    votes, _ = tables((0.95, 0.9, 0.6, 0.6, 0.55))
    made = plan(votes, methods=["value"], budget=3.0, orderings=2, draws=100, price=0.5, batch_size=1000)
    setting = {"setting": "panel:error_cost=50", "setting_cost": 2.5, "setting_error": 0.0}
    first = replace(made.people.first, saves=0.25, low=0.1, high=0.4, **setting)
    better = replace(made, people=replace(made.people, tried=(first, *made.people.tried[1:])))
    worse = replace(made, people=replace(made.people, tried=(replace(first, low=-0.1), *made.people.tried[1:])))
    assert "125.00" in " ".join(better.notes()), "0.25 votes at 0.5 for 1000 items"
    assert better.summary()["people"]["sentence"] in better.notes()
    nothing = replace(first, setting=None, setting_cost=None, setting_error=None)
    unnamed = replace(made, people=replace(made.people, tried=(nothing,)))
    assert unnamed.uses() == worse.uses()
    more = set(better.uses().values()) - set(worse.uses().values())
    (command,) = [each for each in more if each.startswith("quorate run")]
    assert shlex.split(command)[shlex.split(command).index("--method") + 1] == "panel:error_cost=50"
    (line,) = more - {command}
    names = {"quorate": quorate}
    exec(line, names)
    settings = names["session"].settings
    assert settings["method"]["parameters"]["error_cost"] == 50 and len(settings["people"]["experts"]) == 5


@pytest.mark.parametrize(
    "setting", ["panel:error_cost=50", "value:error_cost=50,choose=agreement", "crowd:threshold=0.9"]
)
def test_the_session_with_names_knows_whom_to_ask(quick, setting):
    votes, _ = tables((0.95, 0.9, 0.6, 0.6, 0.55))
    made = plan(votes, methods=["value"], budget=3.0, orderings=2, draws=100, costs={"p0": 3.0})
    names = {"quorate": quorate}
    exec(session_code(made, method(setting)), names)
    session = names["session"]
    session.open("new")
    assert session.next_expert("new").expert is not None
    assert sorted(each["cost"] for each in session.settings["people"]["experts"]) == [1.0, 1.0, 1.0, 1.0, 3.0]


def test_what_an_error_costs_in_money_allows_for_what_people_cost(quick):
    votes, _ = tables((0.9, 0.9, 0.9, 0.9))
    planned = {"methods": ["value"], "budget": 3.0, "orderings": 2, "draws": 100, "price": 0.5}
    made = plan(votes, costs={"p0": 5.0}, **planned)
    gain = made.advice.setting.method.parameters["error_cost"]
    assert f"{0.5 * 2.0 / gain:,.2f}" in " ".join(made.notes()), "four votes cost 5 + 1 + 1 + 1"


def test_the_setting_with_names_is_one_that_was_tried_with_no_more_errors(quick, monkeypatch):
    monkeypatch.setattr(people, "SCALES", (0.1, 1.0, 10.0))
    data = pilot((0.95, 0.95, 0.3), num_items=60)
    found = worth(data)
    met = prepare(data, None, "all", 1)
    assert any(one.setting for one in found.tried)
    for one in found.tried:
        if one.setting is None:
            assert one.setting_cost is None and one.setting_error is None
            continue
        chosen = method(one.setting)
        assert chosen.needs_people and one.setting.startswith(one.method.split(":")[0])
        assert chosen.parameters["error_cost"] in [pytest.approx(0.01 * scale) for scale in people.SCALES]
        again = simulate_stream(met, chosen, seed=1)
        assert found.error + 1e-9 >= one.setting_error == pytest.approx(again.expected_errors.mean())
        assert one.with_names - 1e-9 <= one.setting_cost == pytest.approx(again.paid.mean())


FAMILY = [method("panel", error_cost=cost) for cost in (10, 100)]


@pytest.mark.parametrize(
    ("wrong", "chosen", "took"),
    [
        ((0.2, 0.0), 1, (4.0, 0.0)),  # the saving is read between the two, the setting is the dearer one
        ((0.1, 0.0), 0, (2.0, 0.1)),
        ((0.3, 0.2), None, (None, None)),  # both make more errors
    ],
)
def test_no_setting_is_named_if_all_make_more_errors(wrong, chosen, took):
    costs, errors = np.tile([[3.0], [2.0], [4.0]], 20), np.tile(np.array([[0.1], *([each] for each in wrong)]), 20)
    found = people._tried(FAMILY, costs, errors, np.tile(np.arange(20), (3, 1)), 0.9)
    assert found.setting == (None if chosen is None else spec(FAMILY[chosen]))
    assert (found.setting_cost, found.setting_error) == (took if chosen is None else pytest.approx(took))


def test_what_the_setting_took_is_said_beside_the_saving_and_nothing_without_a_setting():
    first = Tried("panel", 1.7, 0.3, 0.1, 0.5, "panel:error_cost=50", 1.93, 0.021)
    clear = PeopleWorth(200, 5, 0.034, 2.0, 0.9, False, 200, (first,))
    said = clear.sentence(price=0.5, num_items=1000)
    assert clear.is_clear and "panel:error_cost=50" in said and "1.93" in said and "2.1 %" in said
    assert "150.00" in said and "-150.00" not in said, "0.3 votes at 0.5 for 1000 items"
    assert clear.describe(price=0.5, num_items=1000)["sentence"] == said
    maybe = replace(clear, tried=(replace(first, low=-0.1),))
    assert not maybe.is_clear and "150.00" not in maybe.sentence(price=0.5, num_items=1000)
    none = replace(clear, tried=(replace(first, setting=None, setting_cost=None, setting_error=None),))
    assert not none.is_clear and "--method" not in none.sentence() and "None" not in none.sentence()


def test_people_who_all_come_in_one_order_are_warned_of_before_what_is_saved(quick):
    votes, _ = tables((0.95, 0.9, 0.6))
    made = plan(votes, methods=["value"], budget=2.0, orderings=2, draws=100)
    assert made.one_order and "--order shuffled" in made.command()
    (place,) = [k for k, note in enumerate(made.notes()) if "--order shuffled" in note]
    assert place < made.notes().index(made.people.sentence())
    mixed = plan(votes.take(np.random.default_rng(0).permutation(len(votes))), methods=["value"], budget=2.0,
                 orderings=2, draws=100)  # fmt: skip
    assert not mixed.one_order and "--order" not in mixed.command()

"""A panel asks the cheapest useful judge first and stops when the panel's verdict is certain enough."""

import asyncio
import csv
import gzip
import os
from collections import Counter, defaultdict
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest

import quorate
from quorate.errors import InvalidInput, ItemExists
from quorate.live import ABSTAIN, Answer, AskFailed, Judge, Panel, decide_all
from quorate.live.audits import PanelAudits
from quorate.live.savings import cost_until_settled
from quorate.rng import stream
from tests.refusals import refused

SKILLS = {"tiny": (0.8, 0.1), "small": (0.9, 0.3), "medium": (0.92, 1.0), "large": (0.95, 2.0), "larger": (0.95, 3.0)}

RECORDED = ["lgbteen", "summeval", "cebab_stars", "cebab_aspects", "wax"]


def opinion(name, text, skills=SKILLS):
    draws = stream(1, name, text)
    truth = int(text) % 2
    return "ab"[truth if draws.random() < skills[name][0] else 1 - truth]


def simulated(skills=SKILLS, **options):
    options = {"audit_rate": 0.0} | options
    judges = [Judge(name, lambda text, name=name: opinion(name, text, skills), cost=skills[name][1]) for name in skills]
    return Panel(judges, ["a", "b"], **options)


def same(label, cost):
    return Judge(f"{label}-{cost}", lambda text: label, cost=cost)


def broken_call(text):
    raise ConnectionError("no route")


def test_money_is_saved_and_the_whole_panel_would_mostly_agree():
    panel = simulated()
    outcomes = [panel.decide(str(number)) for number in range(300)]
    alike = 0
    for number, outcome in enumerate(outcomes):
        votes = Counter(opinion(name, str(number)) for name in SKILLS)
        alike += outcome.label == votes.most_common(1)[0][0]
    assert alike / 300 > 0.95
    sums = panel.result().summary()
    assert sums["cost"] < 0.5 * sums["full_cost"] == pytest.approx(0.5 * 300 * 6.4)
    asked = [panel.result().by_judge().get(name, {"votes": 0})["votes"] for name in SKILLS]
    assert asked == sorted(asked, reverse=True)  # the cheapest most often


def test_of_equally_dear_judges_one_who_is_no_better_than_chance_is_soon_not_asked_first():
    skills = {name: (skill, 1.0) for name, (skill, _) in SKILLS.items()} | {"tiny": (0.5, 1.0)}
    panel = simulated(skills, audit_rate=0.2)
    outcomes = [panel.decide(str(number)) for number in range(200)]
    first = Counter(next(iter(outcome.votes)) for outcome in outcomes[-50:])
    assert first["tiny"] < 5


def test_plain_and_async_judges_give_the_same_decisions():
    plain = simulated()

    async def later(name, text):
        await asyncio.sleep(0)
        return opinion(name, text)

    judges = [Judge(name, lambda text, name=name: later(name, text), cost=SKILLS[name][1]) for name in SKILLS]
    waiting = Panel(judges, ["a", "b"], audit_rate=0.0, timeout=30)

    async def run():
        return [await waiting.adecide(str(number)) for number in range(60)]

    one_by_one = [plain.decide(str(number)) for number in range(60)]
    assert [outcome.acts for outcome in asyncio.run(run())] == [outcome.acts for outcome in one_by_one]


def test_many_questions_at_once_never_ask_a_judge_twice_about_one():
    judges = [Judge(name, lambda text, name=name: asyncio.sleep(0, opinion(name, text))) for name in SKILLS]
    panel = Panel(judges, ["a", "b"], audit_rate=0.0)

    async def run():
        return await asyncio.gather(*(panel.adecide(str(number)) for number in range(100)))

    outcomes = asyncio.run(run())
    assert len({outcome.item for outcome in outcomes}) == 100
    for outcome in outcomes:
        names = [act.judge for act in outcome.acts]
        assert len(names) == len(set(names)) and not any(act.late for act in outcome.acts)


def test_an_async_judge_needs_the_async_form():
    panel = Panel([Judge("a", lambda text: asyncio.sleep(0, "a"))], ["a", "b"])
    with refused("ask"):
        panel.decide("x")


def test_a_failed_judge_abstains_and_the_next_is_asked():
    panel = Panel([Judge("down", broken_call, cost=0.1, failure_cost=0.01), same("a", 1), same("a", 2)], ["a", "b"])
    outcome = panel.decide("x")
    assert outcome.label == "a" and outcome.num_failures == 1
    assert outcome.acts[0].error == "ConnectionError: no route" and outcome.acts[0].cost == 0.01
    assert panel.result().by_judge()["down"]["failures"] == 1


def test_failures_can_be_raised_and_a_dead_panel_gives_up():
    with pytest.raises(AskFailed):
        Panel([Judge("down", broken_call)], ["a", "b"], on_error="raise").decide("x")
    panel = Panel([Judge("down", broken_call)], ["a", "b"], give_up_after=3)
    assert [panel.decide("x").label, panel.decide("y").label] == [None, None]
    with pytest.raises(AskFailed):
        panel.decide("z")


def test_a_tie_is_named():
    panel = Panel([same("a", 1), same("b", 2)], ["a", "b", "c"], method="ask-all")
    outcome = panel.decide("x")
    assert outcome.tied == ("a", "b") and outcome.label in outcome.tied
    assert panel.result().summary()["tied"] == 1
    assert Panel([same("a", 1), same("a", 2)], ["a", "b"]).decide("x").tied == ()


def test_an_answer_may_know_its_own_cost():
    judges = [Judge("a", lambda text: Answer("a", cost=0.25), cost=9), Judge("b", lambda text: Answer(ABSTAIN), cost=4)]
    panel = Panel(judges, ["a", "b"], method="ask-all")
    outcome = panel.decide("x")
    assert {act.judge: act.cost for act in outcome.acts} == {"a": 0.25, "b": 4} and outcome.full_cost == 13
    with pytest.raises(InvalidInput):
        Answer("a", cost=-1)


def test_audits_ask_until_settled_only_where_the_verdict_is_not_certain():
    panel = simulated(audit_rate=1.0, error_cost=3)
    outcomes = [panel.decide(str(number)) for number in range(40)]
    assert {outcome.audited for outcome in outcomes} == {True, False}
    for outcome in outcomes:
        certain = outcome.decision.reason in ("settled", "exhausted")
        assert outcome.audited == (not certain)
        late = [act.late for act in outcome.acts]
        assert late == sorted(late) and any(late) == outcome.audited
        assert certain or max(Counter(outcome.votes.values()).values()) > len(SKILLS) / 2


def test_whether_a_question_is_audited_depends_on_seed_and_item():
    def drawn():
        panel = simulated(audit_rate=0.3, error_cost=3)
        return [panel.decide(str(number)).audited for number in range(60)]

    assert drawn() == drawn() and 10 < sum(drawn()) < 40


def biased(num_classes, num_biased, *, seed, num_questions=250, num_judges=7):
    """Answers of judges who are right 85 % of the time, but for cheap ones who say A 95 % of the time."""
    rng = np.random.default_rng(seed)
    classes, names = "ABC"[:num_classes], [f"judge-{n}" for n in range(num_judges)]
    truth = rng.integers(num_classes, size=(num_questions, 1))
    other = rng.integers(1, num_classes, size=(num_questions, num_judges))
    votes = np.where(rng.random(other.shape) < 0.85, truth, (truth + other) % num_classes)
    votes[:, :num_biased] = np.where(rng.random((num_questions, num_biased)) < 0.95, 0, other[:, :num_biased])
    prices = {name: 0.1 if n < num_biased else 1.0 for n, name in enumerate(names)}
    return prices, classes, [dict(zip(names, (classes[y] for y in row), strict=True)) for row in votes]


def recorded(name, seed, num_questions=250):
    """Recorded answers of six language models; the large ones cost more."""
    if "QUORATE_DATA" not in os.environ:
        pytest.skip("set QUORATE_DATA to the folder of the real data")
    cheap = {"gemini_flash": 0.1, "gpt-4o-mini": 0.15, "llama-31": 0.2, "mistral-v03": 0.1}
    prices = cheap | {"gemini_pro": 1.25, "gpt-4o": 2.5}
    rows = defaultdict(dict)
    with gzip.open(Path(os.environ["QUORATE_DATA"]) / "judges" / f"{name}_llm_votes.csv.gz", "rt") as file:
        for item, judge, label in islice(csv.reader(file), 1, None):
            rows[item][judge] = label
    full = [row for row in rows.values() if row.keys() == prices.keys()]
    chosen = np.random.default_rng(seed).permutation(len(full))[:num_questions]
    return prices, sorted({label for row in full for label in row.values()}), [full[n] for n in chosen]


def replayed(prices, classes, questions, seed=1):
    judges = [Judge(name, lambda row, name=name: row[name], cost=cost) for name, cost in prices.items()]
    panel = Panel(judges, list(classes), seed=seed)
    return [panel.decide(row) for row in questions]


def cheapest_until_settled(prices, questions):
    order = sorted(prices, key=prices.get)
    costs = [prices[name] for name in order]
    return sum(cost_until_settled(costs, [row[name] for name in order]) for row in questions)


def share_of_winner(label, row):
    counts = Counter(row.values())
    winners = [name for name, count in counts.items() if count == max(counts.values())]
    return (label in winners) / len(winners)


@pytest.mark.filterwarnings("ignore:The audits contradict")
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("jury", [*product((2, 3), range(4)), *RECORDED])
def test_the_stated_confidence_is_kept_and_nothing_is_paid_for_it(jury, seed):
    prices, names, questions = recorded(jury, seed) if isinstance(jury, str) else biased(*jury, seed=seed)
    outcomes = replayed(prices, names, questions, seed)
    stated = np.mean([outcome.confidence for outcome in outcomes])
    agree = np.mean([share_of_winner(outcome.label, row) for outcome, row in zip(outcomes, questions, strict=True)])
    assert agree >= stated - 0.02
    assert sum(outcome.cost for outcome in outcomes) <= cheapest_until_settled(prices, questions) + 1e-9


@pytest.mark.filterwarnings("ignore:The audits contradict")
@pytest.mark.parametrize("jury", [(2, 3), (3, 3), "lgbteen"])
def test_a_loop_keeps_the_confidence_of_its_jury(jury):
    prices, names, questions = recorded(jury, seed=2) if isinstance(jury, str) else biased(*jury, seed=2)
    rows = {str(number): row for number, row in enumerate(questions)}
    judges = [Judge(name, lambda item, name=name: rows[item][name], cost=cost) for name, cost in prices.items()]
    result = decide_all(dict.fromkeys(rows), judges, classes=list(names))
    stated = np.mean([outcome.confidence for outcome in result.outcomes])
    agree = np.mean([share_of_winner(outcome.label, rows[outcome.item]) for outcome in result.outcomes])
    assert agree >= stated - 0.02 and result.audits.num >= 3
    assert result.cost <= cheapest_until_settled(prices, questions) + 1e-9


def test_audits_correct_the_confidence_and_say_when_they_contradict_it():
    audits = PanelAudits(num=8, doubt=0.2, errors=0.0)
    assert audits.warning is None and audits.interval == pytest.approx((0.0, 0.369), abs=1e-3)
    audits = PanelAudits(num=12, doubt=0.4, errors=5.0)
    assert audits.warning is not None
    assert audits.corrected(0.97, num_classes=2) == pytest.approx(1 - 0.03 * 6.5 / 1.4)
    assert audits.corrected(0.6, num_classes=4) == 0.25
    assert PanelAudits().interval is None and PanelAudits().warning is None


def test_a_panel_continues_from_its_journal_without_asking_again(tmp_path):
    path = tmp_path / "panel.jsonl"
    journal = quorate.JsonlJournal(path)
    first = simulated(journal=journal)
    before = first.decide("4", item="m4")
    journal.close()
    again = simulated(session=quorate.Session.resume(path))
    known = again.decide("4", item="m4")
    assert known.earlier and known.cost == 0.0 and known.label == before.label
    assert again.decide("5").item == "2"


def resumed_panel(tmp_path, questions, **options):
    """A panel that decides the questions, (text, item), and another that continues its journal."""
    journal = quorate.JsonlJournal(tmp_path / "panel.jsonl")
    first = simulated(journal=journal, **options)
    for text, item in questions:
        first.decide(text, item=item)
    journal.close()
    return first, simulated(session=quorate.Session.resume(tmp_path / "panel.jsonl"), **options)


def test_numbers_that_were_given_as_ids_are_skipped():
    panel = simulated()
    panel.decide("0", item="2")
    assert [panel.decide("1").item for _ in range(3)] == ["1", "3", "4"]


def test_a_resumed_panel_knows_its_audits(tmp_path):
    questions = [(str(number), None) for number in range(40)]
    first, again = resumed_panel(tmp_path, questions, audit_rate=0.3, error_cost=3)
    assert first.audits.num >= 3 and again.audits == first.audits
    assert again.session.parameters == first.session.parameters


def test_the_outcomes_that_are_kept_can_be_bounded():
    panel = simulated(keep=3)
    for number in range(8):
        panel.decide(str(number))
    assert [outcome.item for outcome in panel.result().outcomes] == ["6", "7", "8"]
    with pytest.raises(ItemExists):
        panel.decide("0", item="1")
    with refused("keep"):
        simulated(keep=0)


def test_a_free_prediction_saves_votes():
    def votes(confidence):
        panel = simulated(audit_rate=0.0, error_cost=50)
        guesses = [{"ab"[number % 2]: confidence} for number in range(80)]
        return sum(len(panel.decide(str(number), guess).acts) for number, guess in enumerate(guesses))

    assert votes(0.97) < 0.9 * votes(0.5)

"""A panel asks the cheapest useful judge first and stops when the panel's verdict is certain enough."""

import asyncio
from collections import Counter

import pytest

import quorate
from quorate.errors import InvalidInput, ItemExists
from quorate.live import ABSTAIN, Answer, AskFailed, Judge, Panel
from quorate.rng import stream
from tests.refusals import refused

SKILLS = {"tiny": (0.8, 0.1), "small": (0.9, 0.3), "medium": (0.92, 1.0), "large": (0.95, 2.0), "larger": (0.95, 3.0)}


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


def test_a_cheap_judge_who_is_no_better_than_chance_is_soon_asked_last():
    skills = SKILLS | {"tiny": (0.5, 0.1)}
    panel = simulated(skills, audit_rate=0.2)
    outcomes = [panel.decide(str(number)) for number in range(200)]
    assert next(iter(outcomes[0].votes)) == "tiny"
    first = Counter(next(iter(outcome.votes)) for outcome in outcomes[-50:])
    assert first["tiny"] == 0 and first["small"] > 40


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


def test_audits_ask_the_rest_after_the_decision_and_change_nothing_before_it():
    judges = [same("a", 1), same("a", 2), same("a", 3), same("b", 4), same("b", 5)]
    audited = Panel(judges, ["a", "b"], audit_rate=1.0).decide("x")
    plain = Panel(judges, ["a", "b"], audit_rate=0.0).decide("x")
    assert audited.audited and len(audited.acts) == 5 and not plain.audited
    assert audited.acts[: len(plain.acts)] == plain.acts and audited.decision.num_votes == plain.decision.num_votes
    assert all(act.late for act in audited.acts[len(plain.acts) :])
    drawn = [outcome.audited for outcome in (simulated(audit_rate=0.3).decide(str(n)) for n in range(3))]
    assert drawn == [outcome.audited for outcome in (simulated(audit_rate=0.3).decide(str(n)) for n in range(3))]


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


def test_a_resumed_panel_knows_its_judges(tmp_path):
    questions = [(str(number), None) for number in range(40)]
    first, again = resumed_panel(tmp_path, questions, audit_rate=0.3)
    assert again.jury.reliability.compared == first.jury.reliability.compared
    assert again.jury.reliability.agreed == pytest.approx(first.jury.reliability.agreed)
    assert again.decide("0", item="1").earlier
    assert again.jury.reliability.compared == first.jury.reliability.compared, "nothing is learned twice"


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
        panel = simulated(audit_rate=0.0)
        guesses = [{"ab"[number % 2]: confidence} for number in range(80)]
        return sum(len(panel.decide(str(number), guess).acts) for number, guess in enumerate(guesses))

    assert votes(0.97) < 0.8 * votes(0.5)

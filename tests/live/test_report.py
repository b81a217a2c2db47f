"""The report on a jury: independent judges, agreement with people, money saved."""

import json

import pytest

from quorate.live import Judge, Panel, jury_report
from quorate.rng import stream


def make(num_copies, num_judges=5, num_questions=200, audit_rate=1.0):
    """A panel in which the first `num_copies` judges always say the same, and what people say: the truth."""

    def opinion(judge, text):
        source = 0 if judge < num_copies else judge
        right = stream(9, source, text).random() < 0.8
        return "ab"[int(text) % 2 if right else 1 - int(text) % 2]

    judges = [Judge(f"j{number}", lambda text, number=number: opinion(number, text)) for number in range(num_judges)]
    panel = Panel(judges, ["a", "b"], audit_rate=audit_rate)
    people = {}
    for number in range(num_questions):
        outcome = panel.decide(str(number))
        people[outcome.item] = "ab"[number % 2]
    return panel.result(), people


def test_independent_judges_count_in_full_and_copies_as_one():
    result, people = make(num_copies=1)
    free = jury_report(result, people).independent
    assert free.low < 5 < free.high + 0.5
    result, people = make(num_copies=5)
    assert jury_report(result, people).independent.value == pytest.approx(1.0, abs=0.15)


def test_agreement_with_people_is_counted_by_hand():
    result, people = make(num_copies=1, num_questions=60)
    some = dict(list(people.items())[:40])
    report = jury_report(result, some)
    alike = [outcome.label == some[outcome.item] for outcome in result.outcomes if outcome.item in some]
    assert report.num_people == 40 and report.with_people.value == pytest.approx(sum(alike) / 40)
    first = report.judges[0]
    own = [o.votes[first.judge] == some[o.item] for o in result.outcomes if o.item in some and first.judge in o.votes]
    assert first.with_people.value == pytest.approx(sum(own) / len(own))


def test_the_error_is_that_of_the_audits():
    result, _ = make(num_copies=1, num_questions=100)
    report = jury_report(result)
    wrong = 0
    for outcome in result.outcomes:
        votes = list(outcome.votes.values())
        wrong += votes.count(outcome.label) * 2 < len(votes)
    assert report.num_audited == 100 and report.error.value == pytest.approx(wrong / 100)


def test_without_audits_and_people_nothing_is_claimed():
    result, _ = make(num_copies=1, num_questions=20, audit_rate=0.0)
    report = jury_report(result)
    told = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert told["error"]["value"] is None and told["with_people"]["value"] is None
    assert told["sums"]["saved"] > 0.2


def test_the_page_has_the_figures_and_every_judge(tmp_path):
    result, people = make(num_copies=2, num_questions=50)
    report = jury_report(result, people, currency="cents")
    page = report.save(tmp_path / "jury.html").read_text()
    assert all(f"j{number}" in page for number in range(5)) and "cents" in page
    assert f"{report.independent.value:.1f}" in page and "<script" not in page
    assert "j0" in report._repr_html_()


def test_printed_it_says_what_was_saved_how_people_agree_and_what_the_jury_is_worth():
    result, people = make(num_copies=5, num_questions=50)
    report = jury_report(result, people, currency="cents")
    told, sums = str(report), report.sums
    for figure in (sums["cost"], sums["full_cost"], 100 * sums["saved"], 100 * report.with_people.value):
        assert f"{figure:.4g}".split(".")[0] in told
    assert f"{report.independent.value:.1f} independent" in told

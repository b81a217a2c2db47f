"""Named people in a live session: whom to ask, who is there, the rules, the crowd's truth, and the journal."""

import numpy as np
import pytest

import quorate
from quorate import CountAtMost, DailyLimit, Expert, MemoryJournal, MustConfirm, NeverTogether, Session, errors
from quorate import rng as streams
from quorate.people.crowd import CrowdItems, new_state
from quorate.people.crowd_stream import REVISED, stream
from quorate.people.panel import UNSEEN, new_panel
from quorate.people.panel_learning import learn_item
from quorate.people.panel_plan import advise
from quorate.session.inputs import parse_prediction
from quorate.session.people import MODELS
from tests.quorate.session.conftest import CLASSES
from tests.quorate.session.people_support import PANEL, SENIOR, TRAINEE, known_of_people, make
from tests.refusals import refused

DAY = 86_400.0


def ask(session, item, label, **options):
    """Ask the people whom the session names until it stops; returns the last decision and who was asked."""
    decision, asked = session.decision(item), []
    while decision.ask:
        found = session.next_expert(item, **options)
        assert found, found.reason
        asked.append(found.expert.name)
        decision = session.vote(item, label, voter=found.expert.name)
    return decision, asked


def test_only_a_session_with_people_names_them():
    session = Session("value", classes=CLASSES, pool_size=3)
    assert "people" not in session.settings
    for call in (lambda: session.next_expert("x"), lambda: session.join("ann"), session.people):
        with pytest.raises(errors.InvalidInput) as caught:
            call()
        assert caught.value.field in ("experts", "item_id")


def test_who_agreed_most_often_is_asked_first():
    session = make(quorate.method("value", choose="agreement"), experts=["ann", "bob", "eve"])
    for number in range(12):
        session.open(str(number), [0.5, 0.3, 0.2])
        for name, label in (("ann", "dog"), ("eve", "cat"), ("bob", "cat")):
            session.vote(str(number), label, name)
        session.close(str(number))
    session.open("x")
    found = session.next_expert("x")
    assert found.expert.name in ("eve", "bob") and found.gain_per_cost == found.gain > 0
    assert session.next_expert("x", ["ann"]).expert.name == "ann"
    shares = {each.expert.name: each.reliability for each in session.people()}
    assert shares["ann"] < shares["bob"] == shares["eve"]
    assert sum(each.num_votes for each in session.people()) == session.counts()["votes"]


def test_a_cheaper_person_is_asked_before_an_equal_one():
    session = make(experts=[Expert("ann", 2), Expert("bob", 1)])
    session.open("x")
    assert session.next_expert("x").expert.name == "bob"
    dear = session.next_expert("x", ["ann"])
    assert dear.gain_per_cost == dear.gain / 2 > 0 and dear.reason.count(". ") == 0 and dear.reason.endswith(".")


def test_presence_says_who_is_asked():
    session = make(experts=["ann", "bob"])
    session.open("x")
    session.away("ann")
    assert session.next_expert("x").expert.name == "bob"
    session.away("bob")
    nobody = session.next_expert("x")
    assert not nobody and nobody.expert is None and nobody.gain == 0
    assert session.decision("x").ask  # they will be back
    session.back("ann")
    assert session.next_expert("x").expert.name == "ann"
    session.join(Expert("kim", 0.1))
    assert session.next_expert("x").expert.name == "kim"


@pytest.mark.parametrize(
    ("act", "field"),
    [
        (lambda session: session.vote("x", "cat"), "voter"),
        (lambda session: session.vote("x", "cat", "stranger"), "voter"),
        (lambda session: session.abstain("x"), "voter"),
        (lambda session: session.join("ann"), "expert"),
        (lambda session: session.leave("stranger"), "voter"),
        (lambda session: session.back("ann"), "voter"),
        (lambda session: session.next_expert("x", ["stranger"]), "available"),
        (lambda session: session.next_expert("x", "ann"), "available"),
        (lambda session: session.next_expert("y"), "item_id"),
    ],
)
def test_calls_that_do_not_fit_are_refused_and_change_nothing(act, field):
    session = make()
    session.open("x")
    before = known_of_people(session)
    with refused(field):
        act(session)
    assert known_of_people(session) == before


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("target", {"target": "truth"}),
        ("target", {"target": "wisdom"}),
        ("gold", {"gold": {"x": "cat"}}),
        ("gold", {"method": "crowd", "gold": {"x": "cow"}}),
        ("experts", {"experts": ["ann", "ann"]}),
        ("experts", {"experts": [7]}),
        ("rules", {"rules": [CountAtMost("boss", 2)]}),
        ("rules", {"rules": [MustConfirm(SENIOR, "cow")]}),
        ("rules", {"rules": ["be nice"]}),
    ],
)
def test_settings_that_do_not_fit_are_refused(field, settings):
    with refused(field):
        make(**settings)


def test_the_method_and_the_pool_follow_from_target_and_experts():
    session = Session(classes=CLASSES, experts=PANEL, target="truth")
    assert session.method.name == "crowd" and session.settings["pool_size"] == len(PANEL)
    assert Session(classes=CLASSES, pool_size=3).method.name == "value"


def test_a_timeout_is_an_abstention_with_a_replacement():
    session = make(experts=["ann", "bob", "eve"])
    session.open("x")
    out = session.timeout("x", "ann")
    assert out.decision.ask and out.replacement.expert.name == "bob"
    assert session.item("x").abstentions == 1 and session.ballots("x") == {"ann": None}
    session.retract("x", "ann")
    assert session.vote("x", "cat", "ann").num_votes == 1


# -- rules ------------------------------------------------------------------------------------------------------------


def test_an_item_closes_only_after_a_senior_has_confirmed():
    rule = MustConfirm(SENIOR, "cat")
    session = make(quorate.method("value", error_cost=1.66667), rules=[rule])
    session.open("x", [0.98, 0.01, 0.01])
    assert session.decision("x").ask and session.next_expert("x").expert.name == "ann"
    assert session.vote("x", "cat", "bob").ask
    decision, asked = ask(session, "x", "cat")
    assert asked == ["ann"] and decision.label == "cat"
    session.open("y", [0.01, 0.98, 0.01])
    assert not session.decision("y").ask  # the rule is about another class


def test_an_item_that_waits_for_a_senior_closes_unconfirmed_when_the_last_one_leaves(tmp_path):
    journal = tmp_path / "j.jsonl"
    rules = [MustConfirm(SENIOR, "dog")]
    session = make(
        quorate.method("quorum", votes=1), rules=rules, experts=[*PANEL, Expert("eli", rank=SENIOR)], journal=journal
    )
    for item in ("waits", "goes on"):
        session.open(item)
    assert session.vote("waits", "dog", "bob").ask, "for a senior"
    assert session.leave("ann") == [], "eli can still confirm"
    assert session.leave("eli") == ["waits"]
    decision = session.decision("waits")
    assert (decision.ask, decision.label, decision.reason) == (False, "dog", "unconfirmed")
    assert session.decision("goes on").ask
    session.vote("goes on", "dog", "bob")
    assert session.decision("goes on").reason == "unconfirmed"
    session._journal.close()
    assert known_of_people(Session.resume(journal)) == known_of_people(session)


def test_only_so_many_votes_of_trainees_count_towards_the_stop():
    session = make(quorate.method("quorum", votes=2), rules=[CountAtMost(TRAINEE, 1)])
    session.open("x")
    session.vote("x", "cat", "eve")
    assert session.next_expert("x", ["joe"]).expert is None
    assert session.vote("x", "cat", "joe").ask  # two votes for cat, one of which counts
    decision = session.vote("x", "cat", "bob")
    assert decision.reason == "rule" and decision.num_votes == 3


def test_two_people_are_kept_apart_once_one_has_voted():
    session = make(experts=["ann", "bob", "eve"], rules=[NeverTogether("ann", "bob")])
    session.open("x")
    session.abstain("x", "ann")
    assert session.next_expert("x", ["bob"])
    session.retract("x", "ann")
    session.vote("x", "cat", "ann")
    assert session.next_expert("x").expert.name == "eve" and not session.next_expert("x", ["bob"])


def test_a_retracted_vote_does_not_count_for_its_voter():
    journal = MemoryJournal()
    session = make(experts=[Expert("ann", daily_limit=2), "bob"], journal=journal)
    for number in range(4):
        session.open(str(number))
    for number, time in ((0, 1.0), (1, DAY + 1), (2, DAY + 2)):
        session.vote(str(number), "cat", "ann", time=time)
    session.abstain("3", "ann", time=DAY + 3)
    session.retract("3", "ann", time=DAY + 4)
    session.retract("0", "ann", time=DAY + 5)
    assert not session.next_expert("3", ["ann"], time=DAY + 6), "the vote of the day before was retracted"
    session.retract("1", "ann", time=2 * DAY)
    assert session.next_expert("3", ["ann"], time=DAY + 6)
    assert session.people()[0].num_votes == session.counts()["votes"] == 1
    assert known_of_people(Session.resume(journal, verify=True)) == known_of_people(session)


def test_a_daily_limit_ends_at_midnight_utc():
    session = make(experts=[Expert("ann", daily_limit=1)])
    session.open("x", time=10.0)
    session.open("y", time=10.0)
    session.vote("x", "cat", "ann", time=DAY - 1)
    assert not session.next_expert("y", time=DAY - 0.5) and session.decision("y").ask
    assert session.next_expert("y", time=DAY + 0.5).expert.name == "ann"


# -- the crowd --------------------------------------------------------------------------------------------------------


def recorded(num_items=70, num_people=23, depth=6, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=num_items)
    person = np.array([rng.permutation(num_people)[:depth] for _ in range(num_items)])
    right = rng.random(person.shape) < 0.4 + 0.5 * (person % 3 > 0)
    label = np.where(right, truth[:, None], rng.integers(3, size=person.shape))
    predictions = rng.dirichlet(np.ones(3), num_items) * 0.9 + 0.1 / 3
    for _ in range(4):  # a prediction is scaled to sum to 1; until that changes no bit
        predictions = np.array([parse_prediction(each, CLASSES, 1)[0] for each in predictions])
    return person, label, predictions, truth


@pytest.mark.parametrize("has_classifier", [True, False])
def test_the_live_crowd_is_the_recorded_one_to_the_bit(has_classifier):
    person, label, predictions, _ = recorded()
    n, depth = person.shape
    log_f = np.log(predictions) if has_classifier else np.zeros((n, 3))
    items = CrowdItems(
        np.arange(n + 1) * depth, person.ravel().copy(), label.ravel().copy(), log_f, np.empty((n, 3)),
        np.empty(n * depth), np.empty((n * depth, 2, 4)), np.empty((n * depth, 3)),
    )  # fmt: skip
    state, online, asked = new_state(23, 3), np.empty((n, 3)), np.empty(n, dtype=np.int64)
    draws = np.array([[streams.uniform(3, "revise", i, place) for place in range(REVISED)] for i in range(n)])
    session = make(quorate.method("crowd", threshold=0.95), experts=[], pool_size=depth)
    live = []
    for i in range(n):
        decision = session.open(str(i), predictions[i] if has_classifier else None)
        while decision.ask:
            turn = decision.num_votes
            decision = session.vote(str(i), CLASSES[label[i, turn]], f"p{person[i, turn]}")
        live.append(decision)
    crowd = session._state.people.crowd
    stream(state, items, 0.05, draws, online, asked)
    assert asked.tolist() == [each.num_votes for each in live]
    assert np.array_equal(online, [each.probs for each in live])
    for name, row in crowd.rows.items():
        assert np.array_equal(crowd.state.confusion[row], state.confusion[int(name[1:])])
    assert np.array_equal(crowd.state.pooled, state.pooled) and np.array_equal(crowd.state.tau, state.tau)


def crowd_session(**settings):
    settings = {"experts": [], "pool_size": 6} | settings
    return make(quorate.method("crowd", threshold=0.95), **settings)


def test_without_gold_the_confidence_is_a_score_and_with_gold_it_is_scaled():
    person, label, predictions, truth = recorded(60, seed=5)
    gold = {str(i): CLASSES[truth[i]] for i in range(40)}
    journal = MemoryJournal()
    for settings in ({}, {"gold": gold, "journal": journal}):
        session, kinds = crowd_session(**settings), []
        for i in range(60):
            decision = session.open(str(i), predictions[i])
            for turn in range(6):
                if decision.ask:
                    decision = session.vote(str(i), CLASSES[label[i, turn]], f"p{person[i, turn]}")
            kinds.append(decision.confidence_is)
        if not settings:
            assert set(kinds) == {"score"}
    assert kinds[:20] == ["score"] * 20 and set(kinds[20:]) == {"probability"}
    assert session._state.people.temperature > 1
    unscaled = session.item("59").judgement.probs
    assert session.decision("59").confidence < unscaled["crowd_all"].max()
    assert session.decision("59").reason == "confident" and unscaled["crowd"].max() >= 0.95  # of the rule
    assert known_of_people(Session.resume(journal, verify=True)) == known_of_people(session)


def test_late_and_withdrawn_votes_are_undone_and_redone():
    person, label, predictions, _ = recorded(30, seed=6)
    session = crowd_session()
    for i in range(30):
        session.open(str(i), predictions[i])
        for turn in range(6):
            session.vote(str(i), CLASSES[label[i, turn]], f"p{person[i, turn]}")  # late ones too
    before = session.decision("12")
    labels = session._state.people.crowd.state.labels.sum()
    session.vote("12", "bird", "newcomer")
    assert session.decision("12").probs.tolist() == before.probs.tolist()
    assert session._state.people.crowd.state.labels.sum() == labels + 1
    session.retract("12", "newcomer")
    assert session._state.people.crowd.state.labels.sum() == labels
    first = next(iter(session.ballots("12")))
    decided = session.retract("12", first)  # the decision counted it: the item is judged anew
    assert decided.num_votes == 5 and session._state.people.crowd.state.labels.sum() in (labels - 1, labels - 6)


def test_the_crowd_learns_from_an_item_once_however_late_it_is_reopened(monkeypatch):
    monkeypatch.setattr(quorate.methods.registry, "WINDOW", 2)
    journal = MemoryJournal()
    session = crowd_session(journal=journal)
    session.tune(threshold=1.0)
    for i in range(4):  # twice the window: all of them can still be retracted
        session.open(str(i))
        for name in ("ann", "bob", "eve"):
            session.vote(str(i), "cat", name)
        session.close(str(i))
    for item in ("0", "1"):
        assert session.retract(item, "ann").ask
        session.vote(item, "dog", "ann")
        session.close(item)
        assert session._state.people.crowd.state.labels.sum() == session.counts()["votes"] == 12
    for i in range(4, 9):
        session.open(str(i))
        session.close(str(i))
    assert set(session._state.people.crowd._closed) == set(session._state.recent), "older ones are forgotten"
    assert known_of_people(Session.resume(journal, verify=True)) == known_of_people(session)


# -- the panel --------------------------------------------------------------------------------------------------------


def test_the_live_panel_asks_and_answers_as_the_kernels_do_to_the_bit():
    rng = np.random.default_rng(2)
    names, truth = ["ann", "bob", "eve"], rng.integers(3, size=25)
    cast = np.where(rng.random((25, 3)) < [0.95, 0.9, 0.4], truth[:, None], rng.integers(3, size=(25, 3)))
    session = make(quorate.method("panel", error_cost=50), experts=[Expert("ann", 2.0), "bob", "eve"])
    panel, asked = new_panel(3, 3), []
    for i in range(25):
        decision = session.open(str(i), rng.dirichlet(np.ones(3)))
        log_f, seen = session.item(str(i)).log_predictions, np.full(3, UNSEEN)
        while True:
            advice = advise(panel, log_f, seen, costs=[2.0, 1.0, 1.0], min_gain=1 / 50)
            assert np.array_equal(decision.probs, advice.probs)
            if not decision.ask:
                break
            found = session.next_expert(str(i))
            assert (found.expert.name, found.gain) == (names[advice.expert], advice.gain)
            seen[advice.expert] = cast[i, advice.expert]
            asked.append(advice.expert)
            decision = session.vote(str(i), CLASSES[cast[i, advice.expert]], found.expert.name)
        assert advice.expert < 0 or decision.reason == "settled"
        learn_item(panel, log_f, seen)
    assert np.array_equal(panel.rows, session._state.people.panel.state.rows)
    assert set(asked) == {0, 1, 2}


def test_a_panel_waits_for_those_who_are_away_and_needs_to_know_its_members():
    session = make("panel", experts=["ann", "bob"])
    session.open("x")
    session.away("ann")
    session.away("bob")
    assert session.decision("x").ask and not session.next_expert("x")
    session.join("kim")
    assert session.next_expert("x").expert.name == "kim"
    assert session.vote("x", "cat", "kim").ask
    session.leave("bob")
    assert session.leave("ann") == ["x"]
    assert session.decision("x").reason == "exhausted", "kim, who joined, is all that is left of its pool"
    with refused("experts"):
        make("panel", experts=[])


def test_a_panel_too_large_for_its_plan_is_refused_at_the_door():
    session = make("panel", experts=[f"p{number}" for number in range(17)])
    with refused("experts") as caught:
        session.open("x")
    assert caught.value.value == 17
    assert session.open("x", absent=["p0"]).ask
    session = make("panel", experts=[f"p{number}" for number in range(16)])
    with pytest.raises(errors.InvalidInput):
        session.join("kim")


# -- the journal ------------------------------------------------------------------------------------------------------

ALL_RULES = [
    MustConfirm(SENIOR, "cat"), CountAtMost(TRAINEE, 1),
    NeverTogether("ann", "bob"),
    DailyLimit(TRAINEE, 9, is_rank=True),
]  # fmt: skip


def busy(session, rng, num_items):
    """Votes, late votes, abstentions, timeouts, retractions, and people who join and leave; yields after each call."""
    names = [each.expert.name for each in session.people()] or [f"p{e}" for e in range(30)]
    for number in range(num_items):
        item = f"i{session.counts()['opened']}"
        session.open(item, rng.dirichlet(np.ones(3)), time=number * 9000.0)
        yield
        status = {each.expert.name: each.status for each in session.people()}
        for name in rng.permutation(names)[:4].tolist():
            act = rng.random()
            if session.settings["people"]["experts"] and status[name] == "left":
                continue
            if act < 0.1:
                session.timeout(item, name)
            elif act < 0.2:
                session.abstain(item, name)
            else:
                session.vote(item, CLASSES[int(rng.integers(3))], name, time=number * 9000.0)
            yield
            if act > 0.9:
                session.retract(item, name)
                yield
        name = names[int(rng.integers(len(names)))]
        if status.get(name) == "here":
            session.leave(name) if rng.random() < 0.2 else session.away(name)
        elif status.get(name) == "away":
            session.back(name)
        elif status.get(name) == "left":
            session.join(Expert(name, 2.0, SENIOR if name == "ann" else None))
        yield


GOLD = {f"i{n}": CLASSES[n % 3] for n in range(25)}
SETTINGS = [
    {"method": "value", "rules": ALL_RULES},
    {"method": quorate.method("value", choose="agreement"), "experts": [], "pool_size": 4},
    {"method": "crowd", "experts": [], "pool_size": 4, "gold": GOLD},
    {"method": "crowd", "rules": ALL_RULES},
    {"method": "panel", "experts": PANEL[:3], "rules": ALL_RULES[1:3]},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_session_with_people_killed_anywhere_comes_back_as_it_was(settings, monkeypatch):
    monkeypatch.setattr(quorate.methods.registry, "WINDOW", 6)
    journal, rng = MemoryJournal(), np.random.default_rng(9)
    session = make(journal=journal, **settings)
    for turn, _ in enumerate(busy(session, rng, 30 if settings["method"] != "panel" else 12)):
        if turn % 41 == 0:
            assert known_of_people(Session.resume(journal)) == known_of_people(session)
    back = Session.resume(rewritten(journal.header(), journal.events()), verify=True)
    assert known_of_people(back) == known_of_people(session)
    for each in (session, back):
        for _ in busy(each, np.random.default_rng(8), 3):
            pass
    assert known_of_people(back) == known_of_people(session)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "join", "expert": {"name": "ann"}},
        {"type": "join", "expert": {"name": "new", "cost": -1}},
        {"type": "away", "voter": "stranger"},
        {"type": "back", "voter": "ann"},
        {"type": "vote", "item": "x", "voter": "stranger", "label": "cat", "decision": {"ask": True}},
        {"type": "vote", "item": "x", "label": "cat", "decision": {"ask": True}},
    ],
)
def test_an_event_that_no_session_writes_is_refused_on_resume(change):
    journal = MemoryJournal()
    session = make(journal=journal)
    session.open("x")
    journal.append({"seq": 2, "time": 0.0, **change})
    with pytest.raises(errors.JournalCorrupt) as caught:
        Session.resume(journal)
    assert caught.value.line == 3


def test_a_repeated_request_about_people_takes_effect_once():
    session = make(experts=["ann", "bob"])
    session.away("ann", request_id="r1")
    session.away("ann", request_id="r1")
    session.back("ann")
    with pytest.raises(errors.RequestReused):
        session.away("bob", request_id="r1")


def test_who_is_absent_is_not_in_the_pool_of_the_item_and_a_resume_knows_it():
    journal = MemoryJournal()
    session = make("ask-all", experts=["ann", "bob", "eve"], journal=journal)
    session.open("x", absent=["bob"])
    assert session.item("x").pool_left == 2 and not session.next_expert("x", ["bob"])
    assert "absent" in next(iter(journal.events()))
    session.open("y")
    assert "absent" not in list(journal.events())[1]
    assert known_of_people(Session.resume(journal, verify=True)) == known_of_people(session)
    with refused("absent"):
        session.open("z", absent=["stranger"])


def test_who_joins_or_leaves_a_panel_changes_its_pools(tmp_path):
    journal = tmp_path / "j.jsonl"
    session = make("panel", experts=["ann", "bob", "eve"], journal=journal)
    session.open("before")
    session.vote("before", "cat", "ann")
    session.join("joe")
    session.open("after")
    assert [session.item(each).pool_size for each in ("before", "after")] == [4, 4]
    session.leave("joe")
    session.leave("ann")
    assert [session.item(each).pool_size for each in ("before", "after")] == [3, 2], "ann has voted on the first"
    session.open("last")
    assert session.item("last").pool_size == 2
    for name in ("bob", "eve"):
        session.vote("last", "cat", name)
    assert not session.decision("last").ask
    session._journal.close()
    assert known_of_people(Session.resume(journal)) == known_of_people(session)


@pytest.mark.parametrize(("name", "target"), [("panel", "plurality"), ("crowd", "truth")])
def test_a_journal_with_another_model_of_people_is_refused(name, target):
    journal = MemoryJournal()
    make(name, experts=["ann", "bob"], journal=journal)
    header, ours = journal.header(), MODELS[target]
    assert header["people"]["model"] == ours and Session.resume(rewritten(header, []))
    for model in (ours + 1, ours - 1, None):
        with refused("people", errors.JournalMismatch) as caught:
            Session.resume(rewritten({**header, "people": header["people"] | {"model": model}}, []))
        assert caught.value.value == model


def test_those_who_have_left_cannot_vote_until_they_join_again():
    session = make("panel", experts=["ann", "bob", "eve"])
    session.open("x")
    session.leave("eve")
    before = known_of_people(session)
    for act in (lambda: session.vote("x", "cat", "eve"), lambda: session.timeout("x", "eve")):
        with refused("voter"):
            act()
        assert known_of_people(session) == before
    session.join("eve")
    assert session.vote("x", "cat", "eve").ask and session.item("x").pool_size == 3
    assert session.vote("x", "dog", "ann").ask, "bob has not been asked"


def test_a_resume_closes_the_items_of_somebody_whose_leaving_was_interrupted():
    journal = MemoryJournal()
    session = make("ask-all", experts=["ann", "bob"], journal=journal)
    for item in ("x", "y"):
        session.open(item)
        session.vote(item, "cat", "ann")
    assert session.leave("bob", time=DAY, request_id="r") == ["x", "y"]
    assert session.leave("bob", time=DAY, request_id="r") == []
    header, events = journal.header(), list(journal.events())
    at = [event["type"] for event in events].index("leave") + 1
    for kept in (at, at + 1, len(events)):
        store = rewritten(header, events[:kept])
        back = Session.resume(store, verify=True)
        assert known_of_people(back) == known_of_people(session)
        assert [event["type"] for event in store.events()][at:] == ["close", "close"]
        assert {event["time"] for event in list(store.events())[at:]} == {DAY}
    before = Session.resume(rewritten(header, events[: at - 1]))
    assert before.open_items() == ["x", "y"]


def rewritten(header, events):
    """A journal with another first line."""
    journal = MemoryJournal()
    journal.start(header)
    for event in events:
        journal.append(event)
    return journal

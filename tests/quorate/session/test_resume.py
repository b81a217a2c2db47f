"""A session killed at any byte resumes with the same state; nothing acknowledged is lost."""

import os
import random
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from quorate import errors
from quorate.methods import method, with_learning
from quorate.model.decision.threshold import Threshold
from quorate.model.prior import Hyperprior
from quorate.session import JsonlJournal, MemoryJournal, Session
from tests.quorate.session.conftest import CLASSES, decisions_equal, known, make
from tests.refusals import refused


def play(session, rng, num_items, *, first=0):
    """Many calls: opens, votes, abstentions, retractions, late votes, closes; yields after each call."""
    for number in range(first, first + num_items):
        item = f"bild-{number}-ä"
        session.open(item, rng.dirichlet(np.ones(3)), request_id=f"open-{number}")
        yield
        for voter in range(5):
            if rng.random() < 0.15:
                session.abstain(item, f"v{voter}")
            else:
                session.vote(item, CLASSES[rng.integers(3)], f"v{voter}", request_id=f"{number}-{voter}")
            yield
            if rng.random() < 0.15:
                session.retract(item, f"v{voter}")
                yield
        if rng.random() < 0.3:
            session.close(item)
            yield


@pytest.mark.parametrize("name", ["value", "finexp", "mp", "random", "until-settled"])
def test_a_resumed_session_knows_what_the_first_one_knew_and_goes_on_alike(name):
    journal = MemoryJournal()
    session = make(name, journal=journal, window=7, refit_every=3, seed=11)
    for _ in play(session, np.random.default_rng(1), 40):
        pass
    back = Session.resume(journal)
    assert known(back) == known(session)
    twin = MemoryJournal()
    twin.start(journal.header())
    for event in journal.events():
        twin.append(event)
    back = Session.resume(twin)
    for act, again in zip(
        play(session, np.random.default_rng(2), 15, first=100),
        play(back, np.random.default_rng(2), 15, first=100),
        strict=True,
    ):
        assert act is again
    assert known(back) == known(session)
    for item in ("bild-1-ä", "bild-39-ä", "bild-110-ä"):
        assert decisions_equal(session.decision(item), back.decision(item))


def test_a_journal_cut_at_every_byte_gives_the_complete_events_and_their_state(tmp_path):
    """The state depends only on the events, so it is compared at the start, inside and at the end of each line."""
    path = tmp_path / "votes.jsonl"
    session = make("value", journal=JsonlJournal(path, fsync=False), window=1, refit_every=1, seed=4)
    states = {0: known(session)}
    for _ in play(session, np.random.default_rng(5), 2):
        states[session._state.seq] = known(session)
    session._journal.close()
    whole = path.read_bytes()
    journal = JsonlJournal(path)
    header, events = journal.header(), list(journal.events())
    journal.close()
    assert {event["type"] for event in events} == {"open", "vote", "abstain", "retract", "close", "learn"}
    complete = -1  # the header is no event
    for cut in range(len(whole) + 1):
        complete += whole[cut - 1 : cut] == b"\n"
        part = tmp_path / "cut.jsonl"
        part.write_bytes(whole[:cut])
        journal = JsonlJournal(part, fsync=False)
        if complete < 0:
            with refused("journal", errors.JournalError):
                Session.resume(journal)
        else:
            assert (journal.header(), list(journal.events())) == (header, events[:complete])
            if b"\n" in whole[cut - 2 : cut + 1]:
                assert_state(Session.resume(journal), complete, states)
        journal.close()
        for leftover in tmp_path.glob("cut.jsonl*"):
            leftover.unlink()
    assert complete == len(events)


def assert_state(session, complete, states):
    assert session._state.seq == complete
    if complete in states:  # not between a vote and the parameters it led to: both are events, the vote is there
        assert known(session) == states[complete]


KILLS = 5
WRITER = textwrap.dedent(
    """
    import sys
    import numpy as np
    from quorate.session import JsonlJournal, Session
    path, classes = sys.argv[1], ["cat", "dog", "bird"]
    try:
        session = Session.resume(JsonlJournal(path))
    except Exception:
        session = Session("value:window=20,refit_every=4", classes=classes, pool_size=5, journal=JsonlJournal(path))
    rng = np.random.default_rng(session.counts()["votes"])
    print("ready", flush=True)
    while True:
        item = f"item-{session.counts()['opened']}"
        decision = session.open(item, rng.dirichlet(np.ones(3)))
        print("open", item, flush=True)
        voter = 0
        while decision.ask:
            label = classes[rng.integers(3)]
            decision = session.vote(item, label, f"v{voter}")
            print("vote", item, f"v{voter}", label, flush=True)
            voter += 1
    """
)


def test_a_process_killed_again_and_again_loses_no_acknowledged_vote(tmp_path):
    path = tmp_path / "votes.jsonl"
    acknowledged = []
    dice = random.Random(7)
    for _ in range(KILLS):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout.readline().strip() == "ready"
        for _ in range(dice.randrange(5, 60)):
            acknowledged.append(writer.stdout.readline().split())
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().splitlines(keepends=True)
        acknowledged += [line.split() for line in rest if line.endswith("\n")]
        writer.wait()
        writer.stdout.close()
    journal = JsonlJournal(path)
    session = Session.resume(journal)
    written = [
        [e["type"], e["item"], *([e["voter"], e["label"]] if e["type"] == "vote" else [])]
        for e in journal.events()
        if e["type"] != "learn"
    ]
    assert len(acknowledged) > 100
    missing = [act for act in acknowledged if act not in written]
    assert not missing
    assert len(written) - len(acknowledged) <= KILLS  # at most one event per kill was written but not yet acknowledged
    assert session.counts()["votes"] == sum(act[0] == "vote" for act in written)


def test_a_journal_that_is_not_there_is_named(tmp_path):
    with pytest.raises(errors.JournalError) as caught:
        Session.resume(tmp_path / "missing.jsonl")
    assert "missing.jsonl" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_new_session_on_a_used_journal_is_refused():
    journal = MemoryJournal()
    make("finexp", journal=journal)
    with refused("journal", errors.JournalError):
        make("finexp", journal=journal)


class Patient:
    """A user's own policy with a state."""

    name = "patient"

    def init(self, num_classes):
        return 0

    def quota(self, item, rng):
        return int(rng.integers(1, 4))

    def ask(self, item):
        return item.probs.max() < 0.99

    def update(self, item):
        return item.state + item.num_votes


def test_a_users_own_policy_is_passed_to_resume():
    journal = MemoryJournal()
    session = make(method=method(Patient()), journal=journal, window=7)
    for _ in play(session, np.random.default_rng(1), 20):
        pass
    assert session._state.policy_state > 0
    with refused("method", errors.JournalMismatch, value=None) as caught:
        Session.resume(journal)
    assert "Patient" in caught.value.rule
    assert known(Session.resume(journal, method=session.method)) == known(session)


def test_a_users_own_policy_with_another_belief_is_refused():
    journal = MemoryJournal()
    make(method=method(Patient(), posterior="infinite"), journal=journal)
    with refused("method", errors.JournalMismatch) as caught:
        Session.resume(journal, method=with_learning(method(Patient()), window=50, refit_every=5))
    assert (caught.value.place, caught.value.value) == ("posterior", "finite")
    assert "infinite" in caught.value.rule


def changed_learner(**changes):
    chosen = method("finexp", window=50, refit_every=5)
    return replace(chosen, learner=replace(chosen.learner, **changes))


@pytest.mark.parametrize(
    ("other", "place", "values"),
    [
        (changed_learner(hyperprior=Hyperprior(2.0, 1.0)), "learner.hyperprior.shape", (2.0, "1.1")),
        (changed_learner(window=9), "learner.window", (9, "50")),
        (changed_learner(bias=True), "learner.bias", (True, "False")),
        (replace(changed_learner(), policy=Threshold(0.5)), "policy.threshold", (0.5, "0.95")),
        (replace(changed_learner(), asks_fixed=True), "asks_fixed", (True, "False")),
    ],
)
def test_a_journal_holds_what_the_method_is_whatever_its_name(other, place, values):
    journal = MemoryJournal()
    make(method=changed_learner(), journal=journal).open("a", [0.8, 0.1, 0.1])
    assert other.name == Session.resume(journal, method=changed_learner()).method.name == "finexp"
    with refused("method", errors.JournalMismatch) as caught:
        Session.resume(journal, method=other)
    assert (caught.value.place, caught.value.value) == (place, values[0])
    assert values[1] in caught.value.rule
    twin = MemoryJournal()
    make(method=other, journal=twin, window=other.learner.window).open("a", [0.8, 0.1, 0.1])
    assert Session.resume(twin).method == other


def test_resume_reports_to_the_callers_progress():
    journal = MemoryJournal()
    session = make("finexp", journal=journal)
    session.open("a", None)
    seen = []
    Session.resume(journal, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (1, 1)


def test_full_disk_under_a_live_session_loses_nothing_and_recovers(tmp_path):
    """A real limit on the file's size: the vote is refused, and the session continues when there is space again."""
    script = textwrap.dedent(
        """
        import resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        from quorate.errors import JournalError
        from quorate.session import JsonlJournal, Session
        path = sys.argv[1]
        session = Session("ask-all", classes=["cat", "dog"], pool_size=500, journal=JsonlJournal(path))
        session.open("a", None)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
        accepted = 0
        try:
            while True:
                session.vote("a", "cat", f"v{accepted}")
                accepted += 1
        except JournalError as problem:
            assert session.counts()["votes"] == accepted, "a refused vote was counted"
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        session.vote("a", "cat", f"v{accepted}")
        print(accepted + 1)
        """
    )
    path = tmp_path / "votes.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5
    assert Session.resume(JsonlJournal(path)).counts()["votes"] == int(done.stdout)

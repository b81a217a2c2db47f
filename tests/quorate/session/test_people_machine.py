"""Random calls in any order: the session never breaks its own rules, and its journal replays bit for bit."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from quorate import CountAtMost, Expert, MemoryJournal, MustConfirm, NeverTogether, Session, method
from tests.quorate.session.conftest import CLASSES
from tests.quorate.session.people_support import known_of_people

NAMES, RANKS = ["ann", "bob", "eve", "kim"], {"ann": "senior", "eve": "trainee"}
RULES = [MustConfirm("senior", "cat"), CountAtMost("trainee", 1), NeverTogether("ann", "bob")]
labels, items = st.sampled_from(CLASSES), st.integers(0, 3).map(str)


class Comings(RuleBasedStateMachine):
    """A session that starts with three people; a fourth may join."""

    @initialize(name=st.sampled_from(["value", "crowd", "panel"]), rules=st.sets(st.sampled_from(RULES)))
    def start(self, name, rules):
        self.journal = MemoryJournal()
        experts = [Expert(each, rank=RANKS.get(each)) for each in NAMES[:3]]
        chosen = method("value", choose="agreement", window=2, refit_every=2) if name == "value" else name
        self.session = Session(
            chosen, classes=CLASSES, experts=experts,
            rules=[rule for rule in RULES if rule in rules], journal=self.journal,
        )  # fmt: skip

    def status(self):
        return {each.expert.name: each.status for each in self.session.people()}

    def opened(self, item):
        return item in self.session._state.open or item in self.session._state.recent

    @rule(item=items, prediction=st.none() | st.sampled_from(CLASSES))
    def open(self, item, prediction):
        state = self.session._state
        if not self.opened(item) and item not in state.old:
            self.session.open(item, prediction, time=0.0)

    @rule(item=items, name=st.sampled_from(NAMES), label=labels, act=st.sampled_from(["vote", "vote", "timeout"]))
    def answer(self, item, name, label, act):
        if not self.opened(item) or self.status().get(name, "left") == "left" or name in self.session.ballots(item):
            return
        if act == "vote":
            self.session.vote(item, label, name, time=0.0)
        else:
            out = self.session.timeout(item, name, time=0.0)
            assert bool(out.replacement) <= out.decision.ask

    @rule(item=items, name=st.sampled_from(NAMES))
    def take_back(self, item, name):
        if self.opened(item) and name in self.session.ballots(item):
            self.session.retract(item, name, time=0.0)

    @rule(name=st.sampled_from(NAMES), leaves=st.booleans())
    def come_or_go(self, name, leaves):
        status = self.status().get(name, "left")
        if status == "left":
            self.session.join(Expert(name, 2.0, RANKS.get(name)), time=0.0)
        elif leaves:
            self.session.leave(name, time=0.0)
        elif status == "here":
            self.session.away(name, time=0.0)
        else:
            self.session.back(name, time=0.0)

    @precondition(lambda self: hasattr(self, "session"))
    @invariant()
    def those_named_are_here_and_have_not_answered(self):
        for item in self.session.open_items():
            found = self.session.next_expert(item, time=0.0)
            if found:
                assert self.status()[found.expert.name] == "here"
                assert found.expert.name not in self.session.ballots(item) and found.gain >= 0

    def teardown(self):
        if hasattr(self, "session"):
            assert known_of_people(Session.resume(self.journal, verify=True)) == known_of_people(self.session)


TestComings = Comings.TestCase
TestComings.settings = settings(max_examples=12, stateful_step_count=14, deadline=None)

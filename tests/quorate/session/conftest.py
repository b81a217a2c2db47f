"""A session for tests, and a comparison of the whole state of two sessions."""

import numpy as np
import pytest

from quorate.methods import as_method, method, with_learning
from quorate.session import Session

CLASSES = ["cat", "dog", "bird"]


def make(name="finexp", *, pool_size=5, journal=None, window=50, refit_every=5, **settings):
    chosen = settings.pop("method", None) or (method(name, threshold=0.9) if name in ("finexp", "infexp") else name)
    chosen = with_learning(as_method(chosen), window=window, refit_every=refit_every)
    return Session(chosen, classes=CLASSES, pool_size=pool_size, journal=journal, **settings)


@pytest.fixture
def session():
    return make()


def known(session):
    """The whole state of a session as plain values: equal iff the sessions are in the same state."""
    state = session._state
    names = ("seq", "num_opened", "num_votes", "num_closed", "fitted_after", "votes_since_fit", "policy_state")
    plain = {name: getattr(state, name) for name in names}
    plain["params"] = (state.params.theta, state.params.phi, state.params.tau.tolist(), _list(state.params.bias))
    plain["prior"] = state.learned.seq
    plain["open"] = {key: _item(item) for key, item in state.open.items()}
    plain["recent"] = [(key, _item(item)) for key, item in state.recent.items()]
    plain["old"], plain["requests"] = list(state.old.items()), list(state.requests.items())
    plain["window"] = (state.window.log_predictions.tolist(), state.window.votes.tolist(), dict(state.window._slots))
    return plain


def _item(item):
    told = item.standing
    standing = told and (*_stop(told), told.votes.tolist(), told.pool_size, told.learned.seq)
    ballots = {voter: (ballot.label, ballot.late) for voter, ballot in item.ballots.items()}
    names = ("number", "pool_size", "quota", "tie_draw", "min_votes", "max_votes", "abstentions", "seen_by_policy")
    plain = [getattr(item, name) for name in names]
    return (*plain, item.predictions.tolist(), item.votes.tolist(), ballots, standing)


def _stop(decision):
    return decision.ask, decision.label, decision.confidence, decision.num_votes, decision.reason


def _list(array):
    return None if array is None else np.asarray(array).tolist()


def decisions_equal(one, two):
    return _stop(one) == _stop(two) and _list(one.probs) == _list(two.probs)


def vote_until_stop(session, item, labels):
    decision = session.decision(item)
    for number, label in enumerate(labels):
        if not decision.ask:
            break
        decision = session.vote(item, label, voter=f"v{number}")
    return decision


class Plain:
    """A policy to be broken in one way or another."""

    name = "plain"

    def ask(self, item):
        return False

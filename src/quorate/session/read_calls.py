"""The read-only calls of a session: decisions, ballots, what would be asked, the current parameters.

`Session` inherits them. Nothing is written to the journal and nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quorate.errors import UnknownItem
from quorate.methods import Method, policy_parameters
from quorate.model import pack
from quorate.session.decide import MOST_STATES, Verdict, answer_belief, confidence_is, decide, safe_ahead
from quorate.session.inputs import parse_prediction
from quorate.session.items import ABSTAINED, ItemState, lone_item
from quorate.session.people_fold import judged
from quorate.session.people_rules import verdict
from quorate.session.results import history_table, results_table
from quorate.types import ConfidenceKind, Decision, Params, PredictionValue, PriorParams
from quorate.validate import invalid, members, whole

if TYPE_CHECKING:
    import threading

    from pyarrow import Table

    from quorate.session.state import State


class ReadCalls:
    """The read-only calls."""

    if TYPE_CHECKING:
        _lock: threading.RLock
        _state: State

    def predict(self, prediction: PredictionValue, pool_size: int | None = None) -> Decision:
        """The answer without any expert (the query-free phase): no item is opened, nothing is stored.

        `value` answers as the classifier does until what was learned has proved better (`learning.answers`).
        """
        with self._lock:
            settings = self._state.settings
            probs = parse_prediction(prediction, settings.classes, settings.num_classifiers)
            size = settings.pool_size if pool_size is None else members(pool_size)
            item = lone_item(probs, size)
            if self._state.people is not None:
                item = judged(self._state.people, self._state.method, None, item, {"type": "open"})
            state = self._state
            return self._decision(decide(state.method, state.learned, state.policy_state, item, closing=True), 0)

    def decision(self, item_id: str) -> Decision:
        """The decision at the item's last event, regardless of what was learned since.

        `probs` is None for an item closed so long ago that only a summary is kept.
        """
        with self._lock:
            state = self._state
            state.check_known(item_id)
            item = state.find(item_id)
            if item is None:
                old = state.old[item_id]
                kind: ConfidenceKind = "score" if state.method.target == "truth" else "probability"
                name = state.settings.classes[old.label]
                return Decision(False, name, old.confidence, None, old.num_votes, old.reason, kind)
            standing = item.standing
            if standing is None:
                raise invalid("item_id", item_id, "an item with a decision", "decide it first.", error=UnknownItem)
            method = state.settings.method
            probs = answer_belief(method, standing.learned, item, standing.votes, standing.pool_size)
            probs.flags.writeable = False
            kind = confidence_is(item)
            verdict = Verdict(standing.ask, standing.label, standing.confidence, probs, standing.reason, kind)
            return self._decision(verdict, standing.num_votes)

    def ballots(self, item_id: str) -> dict[str, str | None]:
        """Ballots on an open or recent item: voter -> class, None for an abstention. Named voters only."""
        with self._lock:
            classes = self._state.settings.classes
            ballots = self._state.held(item_id).ballots
            return {voter: None if act.label == ABSTAINED else classes[act.label] for voter, act in ballots.items()}

    def voters(self, item_id: str) -> tuple[str, ...]:
        """Who has voted or abstained on an item, of those whose names were given."""
        with self._lock:
            self._state.check_known(item_id)
            item = self._state.find(item_id)
            return self._state.old[item_id].voters if item is None else tuple(item.ballots)

    def results(self) -> Table:
        """A row per item, closed ones first: item, consensus_label, confidence, num_votes, stop_reason.

        An Arrow table (`.to_pandas()`, `.to_pylist()`); needs `pip install 'quorate[tables]'`.
        """
        with self._lock:
            return results_table(self._state)

    def history(self) -> Table:
        """A row per fit: the items closed before it, theta, phi and tau (by class, or by classifier and class).

        Without rows if a prior of your own has other parameters.
        """
        with self._lock:
            settings = self._state.settings
            fits = [fit for fit in self._state.history if isinstance(fit[1], PriorParams)]
            models = [str(number + 1) for number in range(settings.num_classifiers)]
            packed = [pack(params) for _, params in fits]
            return history_table([closed for closed, _ in fits], packed, models=models, classes=settings.classes)

    def __contains__(self, item_id: str) -> bool:
        """Whether an item with this id was ever opened."""
        with self._lock:
            return self._state.is_known(item_id)

    def open_items(self) -> list[str]:
        """Ids of the items that are still open, oldest first."""
        with self._lock:
            return list(self._state.open)

    def recent_items(self) -> list[str]:
        """Ids of the closed items whose ballots are kept, oldest first: at most twice the learner's `window`."""
        with self._lock:
            return list(self._state.recent)

    def askable_at_once(self, item_id: str, most: int = 8, *, most_states: int = MOST_STATES) -> int:
        """How many experts can be asked about an open item at once without asking more than one by one.

        The largest m <= `most` such that the session, with its current parameters, still asks after any m - 1 answers;
        1 if more than `most_states` outcomes would have to be checked; 0 if the item is not open. Parameters that
        change before the answers arrive are not taken into account.

        >>> from quorate import Session
        >>> session = Session("ask-all", classes=["cat", "dog"], pool_size=3)
        >>> decision = session.open("photo-1")
        >>> session.askable_at_once("photo-1"), session.vote("photo-1", "cat").ask, session.askable_at_once("photo-1")
        (3, True, 2)
        """
        with self._lock:
            state, item = self._state, self._state.open.get(item_id)
            if item is None:
                return 0
            most = whole(most, where="most")
            if state.people is not None and (item.judgement is not None or state.people.settings.rules):
                return 1  # the decision depends on who answers
            return safe_ahead(state.method, state.learned, state.policy_state, item, most=most, most_states=most_states)

    @property
    def parameters(self) -> dict[str, Any]:
        """The policy's current parameters: those at the start of the session, or those set by `tune`."""
        with self._lock:
            return policy_parameters(self._state.method)

    @property
    def params(self) -> Params:
        """What has been learned so far."""
        with self._lock:
            return self._state.params

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings, as in the journal's header."""
        return self._state.settings.header()

    @property
    def has_people(self) -> bool:
        """Whether the session knows people by name, so that `next_expert` says whom to ask."""
        return self._state.people is not None

    def counts(self) -> dict[str, int]:
        """The numbers of opened, open and closed items, and of votes."""
        with self._lock:
            state = self._state
            still_open = len(state.open)
            closed = state.num_opened - still_open
            return {"opened": state.num_opened, "open": still_open, "closed": closed, "votes": state.num_votes}

    def item(self, item_id: str) -> ItemState:
        """The state of an open or recent item: votes, ballots, abstentions, limits, current decision."""
        with self._lock:
            return self._state.held(item_id)

    @property
    def method(self) -> Method:
        """The current method, with the parameters set by `tune`."""
        return self._state.method

    def would_ask(self, item: ItemState) -> bool:
        """Whether the session would now ask one more expert about an item in this state. Nothing is stored."""
        with self._lock:
            return self._decide(item).ask

    def _decide(self, item: ItemState, *, closing: bool = False) -> Verdict:
        state = self._state
        return verdict(state.people, state.method, state.learned, state.policy_state, item, closing=closing)

    def _decision(self, found: Verdict, num_votes: int) -> Decision:
        label, kind = self._state.settings.classes[found.label], found.confidence_is
        return Decision(found.ask, label, found.confidence, found.probs, num_votes, found.reason, kind)

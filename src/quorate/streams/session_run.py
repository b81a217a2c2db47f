"""Starts the run of a stream: compiled for built-in methods, through a live `Session` for all others.

`SessionRun` passes the recorded votes to a session, one by one: for a user's own policy and for named people.

A method that needs people chooses whom to ask next among those whose votes are recorded; the run's own copy of the
stream then has each item's votes in asking order. Tests compare it with the compiled loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from quorate.methods import Method
from quorate.model import ASK, code_of, pack, rule_of
from quorate.people import Expert
from quorate.session import Session
from quorate.streams.prepared_stream import Stream
from quorate.streams.runs import CompiledRun, StreamOptions, StreamRun
from quorate.types import Decision, IntArray
from quorate.validate import invalid


class SessionRun(StreamRun):
    """A run of any method. `asked` (E,) how often each person was asked."""

    def __init__(
        self,
        stream: Stream,
        method: Method,
        options: StreamOptions,
        *,
        seed: int,
        keep_probs: bool,
    ) -> None:
        if method.needs_people and stream.voters is not None:
            stream = replace(stream, votes=stream.votes.copy(), voters=stream.voters.copy())
        super().__init__(stream, method, options, keep_probs)
        _, num_classifiers, num_classes = stream.predictions.shape
        self.classes = tuple(map(str, range(num_classes)))
        self.experts = _experts(stream, method, options.voter_costs) if method.needs_people else None
        self.session = Session(
            method,
            classes=self.classes,
            pool_size=int(stream.pool_sizes.max()),
            seed=seed,
            num_classifiers=num_classifiers,
            min_votes=options.min_votes,
            max_votes=options.max_votes,
            experts=self.experts,
            gold=_gold(stream, self.classes) if method.target == "truth" else None,
        )
        self._params, self._num_fits = self.session.params, 0
        self.asked = np.zeros(len(self.experts or ()), dtype=np.int64)

    @property
    def num_fits(self) -> int:
        """Fits made so far."""
        return self._num_fits

    @property
    def answers_proved(self) -> bool:
        """Whether what was learned answers items without votes."""
        return self.session._state.learned.alone is None

    def advance(self, first: int, last: int) -> None:
        """Run items first .. last - 1."""
        for t in range(first, last):
            self._run_item(t)

    def _run_item(self, t: int) -> None:
        session, stream, out, name = self.session, self.stream, self.outputs, str(t)
        pool_size = int(stream.pool_sizes[t])
        if t >= self.stop_asking:
            decision = session.predict(stream.predictions[t], pool_size=pool_size)
        else:
            decision = self._open(t, pool_size)
            decision = self._ask_in_order(t, decision) if self.experts is None else self._ask_people(t, decision)
            if decision.ask:
                decision = session.close(name)
            if session.params is not self._params:
                self._params = session.params
                out.trace[self._num_fits], out.trace_at[self._num_fits] = pack(self._params), t
                self._num_fits += 1
        assert decision.probs is not None
        label = int(decision.label)
        out.costs[t], out.labels[t], out.confidence[t] = decision.num_votes, label, decision.probs[label]
        out.stops[t] = ASK if t >= self.stop_asking else code_of(decision.reason)
        self.is_score[t] = decision.confidence_is == "score"
        if len(out.probs):
            out.probs[t] = decision.probs

    def _open(self, t: int, pool_size: int) -> Decision:
        """Open item t. The pool of a panel is its members; those whose votes are not recorded are absent."""
        if self.experts is None or self.stream.voters is None or self.method.asking.posterior != "panel":
            return self.session.open(str(t), self.stream.predictions[t], pool_size=pool_size)
        there = set(self.stream.voters[t, : self.stream.recorded[t]].tolist())
        absent = [expert.name for e, expert in enumerate(self.experts) if e not in there]
        size = len(self.experts)
        return self.session.open(str(t), self.stream.predictions[t], pool_size=size, absent=absent)

    def _ask_in_order(self, t: int, decision: Decision) -> Decision:
        """Ask in recorded order until the session stops or no vote is left."""
        while decision.ask and decision.num_votes < self.stream.recorded[t]:
            decision = self._vote_of(t, decision.num_votes)
        return decision

    def _ask_people(self, t: int, decision: Decision) -> Decision:
        """Ask the people whom the session chooses among those who voted on the item."""
        assert self.stream.voters is not None
        votes, voters = self.stream.votes[t], self.stream.voters[t]
        asked, count = 0, int(self.stream.recorded[t])
        while decision.ask and asked < count:
            advice = self.session.next_expert(str(t), available=[str(e) for e in voters[asked:count]])
            if advice.expert is None:
                break
            position = asked + int(np.flatnonzero(voters[asked:count] == int(advice.expert.name))[0])
            for row in (votes, voters):  # the others keep their order
                row[asked : position + 1] = np.roll(row[asked : position + 1], 1)
            decision = self._vote_of(t, asked)
            asked += 1
        return decision

    def _vote_of(self, t: int, place: int) -> Decision:
        """Cast the vote at `place` of item t, with its voter if people are known."""
        label = self.classes[self.stream.votes[t, place]]
        if self.experts is None or self.stream.voters is None:
            self.paid[t] += self.price_of(t, place, place + 1)
            return self.session.vote(str(t), label)
        expert = self.experts[self.stream.voters[t, place]]
        self.paid[t] += expert.cost
        self.asked[int(expert.name)] += 1
        return self.session.vote(str(t), label, voter=expert.name)

    def tune(self, parameters: Mapping[str, Any]) -> None:
        """Change parameters of the policy for the next items."""
        self.session.tune(**parameters)

    def add_votes(self, t: int, votes: IntArray) -> None:
        """Learn from audit votes (K,) on item t, the last one run, after it was closed."""
        asked = int(self.outputs.costs[t])
        for position in range(asked, asked + int(votes.sum())):  # an audit continues in stream order
            self._vote_of(t, position)


def _experts(stream: Stream, method: Method, costs: tuple[float, ...] | None) -> list[Expert]:
    """Everybody who voted, by number, with the cost of their votes."""
    voters = stream.voters
    missing = int(stream.recorded.sum()) if voters is None else int((stream.recorded - (voters >= 0).sum(axis=1)).sum())
    if voters is None or missing:
        rule = f"the voter of every vote, which method {method.name!r} needs"
        fix = "name the column of the voters with `worker`, or use a method for anonymous votes, such as 'value'."
        raise invalid("votes", f"{missing} votes without a voter", rule, fix)
    return [Expert(str(e), cost=1.0 if costs is None else costs[e]) for e in range(int(voters.max()) + 1)]


def _gold(stream: Stream, classes: tuple[str, ...]) -> dict[str, str] | None:
    """Items of known class, by number: they calibrate the confidence of later items."""
    if stream.truth is None:
        return None
    return {str(t): classes[stream.truth[t]] for t in np.flatnonzero(stream.truth >= 0)}


def start_run(
    stream: Stream,
    method: Method,
    options: StreamOptions,
    *,
    seed: int,
    keep_probs: bool = False,
) -> CompiledRun | SessionRun:
    """A new run, before its first item; `seed` of the stream."""
    rule = rule_of(method.policy) if method.is_ours and not method.needs_people else None
    run: CompiledRun | SessionRun
    if rule is None:
        run = SessionRun(stream, method, options, seed=seed, keep_probs=keep_probs)
    else:
        run = CompiledRun(stream, method, rule, options, keep_probs=keep_probs)
    return run

"""The compiled loop for `choose="agreement"`: whoever agreed most with the answers so far is asked first.

Votes and answers are those of a session, ten times faster (a test compares them). Called by `streams.simulate`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quorate.methods import Method
from quorate.model import Rule
from quorate.people import most_reliable_first, reliability
from quorate.streams.prepared_stream import Stream
from quorate.streams.runs import CompiledRun, StreamOptions


class AgreementRun(CompiledRun):
    """A run on its own copy of the stream, whose votes come into asking order item by item."""

    def __init__(self, stream: Stream, method: Method, rule: Rule, options: StreamOptions, *, keep_probs: bool) -> None:
        assert stream.voters is not None
        self._given = stream
        ordered = replace(stream, votes=stream.votes.copy(), voters=stream.voters.copy())
        super().__init__(ordered, method, rule, options, keep_probs=keep_probs)
        num_people = int(stream.voters.max(initial=-1)) + 1
        self._agreements, self._judged = np.zeros(num_people), np.zeros(num_people)

    def advance(self, first: int, last: int) -> None:
        """Run items first .. last - 1."""
        for t in range(first, last):
            self._put_in_order(t)
            super().advance(t, t + 1)
            self._count_agreement(t)

    def _put_in_order(self, t: int) -> None:
        given, ordered = self._given, self.stream
        assert given.voters is not None and ordered.voters is not None
        recorded = int(given.recorded[t])
        who, said = given.voters[t, :recorded], given.votes[t, :recorded]
        of_all = float(self._agreements.sum()), float(self._judged.sum())
        reliabilities = reliability(self._agreements[who], self._judged[who], of_all=of_all)
        order = most_reliable_first(reliabilities, 1.0 if self._prices is None else self._prices[who])
        ordered.votes[t, :recorded], ordered.voters[t, :recorded] = said[order], who[order]

    def _count_agreement(self, t: int) -> None:
        asked = int(self.outputs.costs[t])
        assert self.stream.voters is not None
        who = self.stream.voters[t, :asked]
        np.add.at(self._agreements, who, self.stream.votes[t, :asked] == self.outputs.labels[t])
        np.add.at(self._judged, who, 1.0)

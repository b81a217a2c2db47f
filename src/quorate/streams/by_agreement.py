"""Runs a stream with named voters, most reliable voter first: `order="agreement"` for any method.

A voter's reliability is the share of votes so far that agreed with the answers (`experts.reliability`). The method
does not know who voted: only the order of the votes changes, item by item, before the compiled loop runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quorate import compiled
from quorate.experts.reliability import most_reliable_first, reliability
from quorate.methods import Method
from quorate.posterior.settled import plurality_shares
from quorate.streams.prepare import Stream
from quorate.streams.runs import StreamOptions
from quorate.streams.simulate import expected_errors
from quorate.streams.start import start_run
from quorate.types import FloatArray, IntArray
from quorate.validate import broken


@dataclass(frozen=True, slots=True, eq=False)
class OrderedRun:
    """The result of a method that asks the most reliable people first, for T items.

    `votes`, `voters` (T, N) in asking order   `costs` (T,) number of votes asked
    `labels` (T,) answers   `expected_errors` (T,) their errors, averaged over how ties of the pool are broken
    """

    votes: np.ndarray
    voters: np.ndarray
    costs: IntArray
    labels: IntArray
    expected_errors: FloatArray


def run_by_agreement(
    stream: Stream, method: Method, options: StreamOptions | None = None, *, seed: int, audited: bool = False
) -> OrderedRun:
    """Run the stream, whose voters must be known. Equally reliable voters keep the stream's order.

    `audited`: the whole pool of every closed item becomes known, and reliability is agreement with its verdict;
    otherwise it is the agreement of the votes that were asked for with the method's own answer.
    """
    if stream.voters is None:
        rule = "a stream with the voter of each vote"
        raise broken("stream", None, rule, "build it from a data set with `voters`.")
    ordered = replace(stream, votes=stream.votes.copy(), voters=stream.voters.copy())
    assert ordered.voters is not None
    num_items, num_people = len(stream.items), int(stream.voters.max(initial=-1)) + 1
    agreements, votes = np.zeros(num_people), np.zeros(num_people)
    verdicts = plurality_shares(stream.counts)
    compiled.prepare_for(num_items)
    run = start_run(ordered, method, StreamOptions() if options is None else options, seed=seed)
    for t in range(num_items):
        recorded = int(stream.recorded[t])
        who, said = stream.voters[t, :recorded], stream.votes[t, :recorded]
        of_all = float(agreements.sum()), float(votes.sum())
        known = reliability(agreements[who], votes[who], of_all=of_all)
        order = most_reliable_first(np.where(who >= 0, known, 0.0))  # people without a name come last
        ordered.votes[t, :recorded], ordered.voters[t, :recorded] = said[order], who[order]
        run.advance(t, t + 1)
        seen = recorded if audited else int(run.outputs.costs[t])
        asked, answers = ordered.voters[t, :seen], ordered.votes[t, :seen]
        agreed = verdicts[t, answers] if audited else answers == run.outputs.labels[t]
        named = asked >= 0
        np.add.at(agreements, asked[named], agreed[named])
        np.add.at(votes, asked[named], 1.0)
    labels = run.outputs.labels
    return OrderedRun(ordered.votes, ordered.voters, run.outputs.costs, labels, expected_errors(stream, labels))

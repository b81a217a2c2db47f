"""Runs a method on a recorded stream; a vote is seen only when it is asked for.

`simulate` runs a data set, `simulate_stream` a prepared stream, `run_by_agreement` a stream with named voters, most
reliable voter first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quorate.decision.policy import QueryPolicy
from quorate.experts.reliability import most_reliable_first, reliability
from quorate.learning.problem import unpack
from quorate.methods import REFIT_EVERY, WINDOW, Method, Target, as_method, known_target
from quorate.posterior.settled import plurality_shares
from quorate.streams.prepare import Stream, prepare
from quorate.streams.runs import StreamOptions
from quorate.streams.session_run import start_run
from quorate.types import FloatArray, IntArray, PriorParams, VoteDataset
from quorate.validate import invalid, whole


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """The results for each item (T,), in stream order, and the learned parameters.

    `costs` votes asked   `predictions` class numbers answered   `consensus` the pool's plurality, ties broken by seed
    `errors` prediction != consensus   `expected_errors` the same, averaged over how ties could have been broken
    (if the method's target is the truth, `consensus` is the true class; unknown: -1, no error, and nan expected)
    `paid` cost of the votes: equal to `costs`, unless people differ in cost
    `confidence` of the answer   `reasons` why asking stopped   `items` rows of the data set
    `trace` (item after which it was fitted, parameters), oldest first; `fits` (F, P) and `fitted_after` (F,) are the
    same in packed form, `tau_shape` is (K,) or (M, K)
    `probs` (T, K) the belief in each class at the stop; None unless requested
    """

    method: Method
    items: IntArray
    costs: IntArray
    predictions: IntArray
    consensus: IntArray
    errors: np.ndarray
    expected_errors: FloatArray
    confidence: FloatArray
    reasons: tuple[str, ...]
    fits: FloatArray
    fitted_after: IntArray
    tau_shape: tuple[int, ...]
    paid: FloatArray
    probs: FloatArray | None = None

    @property
    def trace(self) -> tuple[tuple[int, PriorParams], ...]:
        """The learned parameters, each with the item after which it was fitted."""
        pairs = zip(self.fitted_after, self.fits, strict=True)
        return tuple((int(after), unpack(packed, self.tau_shape)) for after, packed in pairs)

    def __repr__(self) -> str:
        """The run in one line."""
        return (
            f"Simulation({self.method.name}, {len(self.costs)} items: {self.mean_cost:.2f} votes per item, "
            f"{100 * self.error_rate:.2f} % wrong, {len(self.fits)} fits)"
        )

    @property
    def mean_cost(self) -> float:
        """Votes per item."""
        return float(self.costs.mean())

    @property
    def error_rate(self) -> float:
        """Share of wrong answers, expectation over ties."""
        return float(np.nanmean(self.expected_errors))


def simulate(
    dataset: VoteDataset,
    method: Method | str | QueryPolicy,
    *,
    pool_size: int | None = None,
    model: int | str = 0,
    seed: int,
    window: int | None = WINDOW,
    refit_every: int = REFIT_EVERY,
    order: str = "shuffled",
    min_votes: int = 0,
    max_votes: int | None = None,
    query_free_after: int | None = None,
    target: Target | None = None,
    voter_costs: tuple[float, ...] | None = None,
) -> Simulation:
    """Run `method` over the whole data set, item by item, as in a live session.

    `pool_size` votes of each item are drawn by seed as its pool (None: all). `model`: a classifier's number or name,
    or "all" to fuse them. `query_free_after`: from this item on no expert is asked and nothing is learned. `target`:
    what answers are compared with, "plurality" or "truth"; None: the method's target. `voter_costs` of each person.
    Time: O(items) posteriors and at most `learner.most_fits` fits of a window. The same seed gives the same result.

    >>> from quorate.datasets import synthetic
    >>> data = synthetic(num_items=200, pool_size=7, accuracy=0.9, seed=1)
    >>> careful, everyone = (simulate(data, name, seed=1).mean_cost for name in ("value", "ask-all"))
    >>> careful < everyone == 7
    True
    """
    options = StreamOptions(window, refit_every, min_votes, max_votes, query_free_after, voter_costs)
    if not isinstance(model, (str, int, np.integer)):
        raise invalid("model", model, "a classifier's number or name, or 'all'", "pass e.g. `model=0`.")
    seed = whole(seed, where="seed", least=0)
    stream = prepare(dataset, pool_size, model, seed, order)
    return simulate_stream(stream, as_method(method), options, seed=seed, target=target)


def simulate_stream(
    stream: Stream,
    method: Method,
    options: StreamOptions | None = None,
    *,
    seed: int,
    keep_probs: bool = False,
    target: Target | None = None,
) -> Simulation:
    """`simulate` for a prepared stream."""
    how = StreamOptions() if options is None else options
    seeks = method.target if target is None else known_target(target)
    verdict = stream.consensus if seeks == "plurality" else _true_classes(stream, method)
    run = start_run(stream, method, how, seed=seed, keep_probs=keep_probs)
    run.advance(0, len(stream.items))
    labels = run.outputs.labels
    return Simulation(
        method=method,
        items=stream.items.copy(),  # later runs share the stream
        costs=run.outputs.costs,
        predictions=labels,
        consensus=verdict.copy(),
        errors=(labels != verdict) & (verdict >= 0),
        expected_errors=expected_errors(stream, labels, seeks),
        confidence=run.outputs.confidence,
        reasons=run.reasons,
        fits=run.fits,
        fitted_after=run.fitted_after,
        tau_shape=run.start.tau.shape,
        paid=run.paid,
        probs=run.outputs.probs if keep_probs else None,
    )


def expected_errors(stream: Stream, labels: IntArray, target: Target = "plurality") -> FloatArray:
    """(..., T) labels -> probability that each is wrong, with ties of the pool broken at random, or by the truth.

    By the truth: nan where unknown.
    """
    if target == "truth" and stream.truth is not None:
        return np.asarray(np.where(stream.truth < 0, np.nan, labels != stream.truth))
    shares = plurality_shares(stream.counts)  # (T, K)
    return np.asarray(1.0 - shares[np.arange(len(shares)), labels])


def _true_classes(stream: Stream, method: Method) -> IntArray:
    if stream.truth is None or not (stream.truth >= 0).any():
        rule = f"true classes of some items, because {method.name!r} estimates the truth"
        raise invalid("truth", None, rule, "pass them, or use a method for the plurality, such as 'value'.")
    return stream.truth


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
    """Run a stream with the most reliable voter first, `choose="agreement"` for any method. Its voters must be known.

    A voter's reliability is the share of votes so far that agreed with the answers (`experts.reliability`); equally
    reliable voters keep the stream's order. The method does not know who voted: only the order of the votes changes,
    item by item, before the compiled loop runs.

    `audited`: the whole pool of every closed item becomes known, and reliability is agreement with its verdict;
    otherwise it is the agreement of the votes that were asked for with the method's own answer.
    """
    if stream.voters is None:
        rule = "a stream with the voter of each vote"
        raise invalid("stream", None, rule, "build it from a data set with `voters`.")
    ordered = replace(stream, votes=stream.votes.copy(), voters=stream.voters.copy())
    assert ordered.voters is not None
    num_items, num_people = len(stream.items), int(stream.voters.max(initial=-1)) + 1
    agreements, votes = np.zeros(num_people), np.zeros(num_people)
    verdicts = plurality_shares(stream.counts)
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

"""Runs a method on a recorded stream; a vote is seen only when it is asked for.

`simulate` runs a data set, `simulate_stream` a prepared stream.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.methods import Method, Target, as_method, known_target
from quorate.model import QueryPolicy, plurality_shares, rule_of, unpack
from quorate.streams.agreement_run import AgreementRun
from quorate.streams.prepared_stream import Stream, prepare
from quorate.streams.runs import StreamOptions, StreamRun
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
    `probs` (T, K) the belief in each class at the stop; None without `keep_probs`
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
    model: int | str = "all",
    seed: int,
    order: str = "shuffled",
    min_votes: int = 0,
    max_votes: int | None = None,
    query_free_after: int | None = None,
    target: Target | None = None,
    voter_costs: tuple[float, ...] | None = None,
    keep_probs: bool = False,
) -> Simulation:
    """Run `method` over the whole data set, item by item, as in a live session.

    `pool_size` votes of each item are drawn by seed as its pool (None: all). `model`: a classifier's number or name;
    "all" are fused. `order`: items and votes "shuffled" by seed, items within their block, or both as "given"; the pool
    is then the first votes. `keep_probs`: the result has `probs`. `query_free_after`: from this item on no expert is
    asked and nothing is learned. `target`: what answers are compared with, "plurality" or "truth"; None: the method's
    target. `voter_costs` of each person.
    Time: O(items) posteriors and at most `learner.most_fits` fits of a window. The same seed gives the same result.

    >>> from quorate.datasets import synthetic
    >>> data = synthetic(num_items=200, pool_size=7, accuracy=0.9, seed=1)
    >>> careful, everyone = (simulate(data, name, seed=1).mean_cost for name in ("value", "ask-all"))
    >>> careful < everyone == 7
    True
    """
    options = StreamOptions(min_votes, max_votes, query_free_after, voter_costs)
    if not isinstance(model, (str, int, np.integer)):
        raise invalid("model", model, "a classifier's number or name, or 'all'", "pass e.g. `model=0`.")
    seed = whole(seed, where="seed", least=0)
    stream = prepare(dataset, pool_size, model, seed, order)
    return simulate_stream(stream, as_method(method), options, seed=seed, keep_probs=keep_probs, target=target)


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
    rule = rule_of(method.policy)
    run: StreamRun
    if method.choose is None or rule is None or not _names_everybody(stream):
        run = start_run(stream, method, how, seed=seed, keep_probs=keep_probs)
    else:
        run = AgreementRun(stream, method, rule, how, keep_probs=keep_probs)
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


def _names_everybody(stream: Stream) -> bool:
    """Whether every vote names its voter."""
    return stream.voters is not None and bool(((stream.voters >= 0).sum(axis=1) == stream.recorded).all())


def _true_classes(stream: Stream, method: Method) -> IntArray:
    if stream.truth is None or not (stream.truth >= 0).any():
        rule = f"true classes of some items, because {method.name!r} estimates the truth"
        raise invalid("truth", None, rule, "pass them, or use a method for the plurality, such as 'value'.")
    return stream.truth

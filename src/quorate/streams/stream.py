"""The compiled loop over recorded votes: open, ask, stop, learn, next item.

Calls the kernels of a `Session` in the same order; tests compare the two for every method. One call runs any number of
items: a whole stream, or a single item if a controller acts between items. Called by `runs`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.compiled import kernel
from quorate.decision.belief import (
    ASK,
    FINITE,
    INFINITE,
    RULE,
    SHORT,
    TIE_WIDTH,
    belief_into,
    pick_label,
    stop_before_rule,
)
from quorate.decision.bounds import SURELY_ASKS, UNSURE, choice_by_bounds
from quorate.decision.error_costs import cheapest_answer
from quorate.decision.model_picker import picker_rate, picker_update
from quorate.decision.quota import binomial_quantile
from quorate.decision.rules import ALWAYS, BLENDED, THRESHOLD, rule_asks
from quorate.learning.fit import fit_kernel
from quorate.learning.learner import fit_is_due
from quorate.learning.problem import HyperpriorNumbers, unpacked
from quorate.posterior.duel import finite_duel
from quorate.posterior.infinite import infinite_into
from quorate.posterior.infinite_bound import leader_bound
from quorate.posterior.settled import is_settled
from quorate.prior import concentration_into
from quorate.types import FloatArray, IntArray

NO_QUOTA, BY_RATE, BY_PICKER = range(3)
ENTERED, FITTED, VOTES, FITS = range(4)  # indices in `StreamState.counts`


class Inputs(NamedTuple):
    """The stream, T items: votes (T, N) in asking order, -1 padded; uniform draws that break ties and draw quotas."""

    votes: NDArray[np.int16]
    pool_sizes: IntArray
    log_predictions: FloatArray  # (T, M, K)
    mean_predictions: FloatArray  # (T, K)
    tie_draws: FloatArray
    quota_draws: FloatArray
    rates: FloatArray  # query rates, for BY_RATE
    recorded: IntArray  # (T,) number of votes of each item: fewer than its pool if some were not recorded
    error_costs: FloatArray  # (K, K) cost of an error by truth and answer; (0, 0): all errors cost the same


class CompiledMethod(NamedTuple):
    """The method and the limits as numbers: see `decision.rules` and `decision.belief` for the codes."""

    quota_kind: int
    picker_scale: float
    rule_kind: int
    stops_when_settled: bool
    ask_posterior: int
    ask_learned: bool
    predict_posterior: int
    predict_learned: bool
    learns: bool
    hyperprior: HyperpriorNumbers
    window: int
    proportional: bool  # of `fit_is_due`
    refit_every: int
    stop_asking: int  # items from this one on are answered without experts
    min_votes: int
    max_votes: int
    confidence_every: int  # the confidence of other items is NaN, so that some of their beliefs need no computing


class StreamState(NamedTuple):
    """The state between items. `counts`: items that entered the window; items closed at the last fit; votes counted
    since; number of fits.
    """

    packed: FloatArray  # (P,) theta, phi, tau, bias: written by learning
    window_predictions: FloatArray  # (W, M, K)
    window_votes: IntArray  # (W, K)
    losses: FloatArray  # (K,) of the model picker
    counts: IntArray  # (4,)
    rule: FloatArray  # (2,) the parameters of the stopping rule: a controller changes them between calls


class Outputs(NamedTuple):
    """Results: per item (T,), and per fit the parameters (F, P) and the item after which they were fitted."""

    costs: IntArray
    labels: IntArray
    confidence: FloatArray
    stops: IntArray
    trace: FloatArray
    trace_at: IntArray
    probs: FloatArray  # (T, K) the belief in each class at the stop; (0, K): not kept


@kernel
def _believe(
    posterior: int,
    packed: FloatArray,
    num_classifiers: int,
    logs: FloatArray,
    mean: FloatArray,
    votes: IntArray,
    pool_size: int,
    out: FloatArray,
) -> None:
    """`belief_into` with packed parameters."""
    theta, phi, tau, bias = unpacked(packed, num_classifiers, mean.size)
    belief_into(posterior, theta, phi, tau, bias, logs, mean, votes, pool_size, out)


@kernel
def _concentrate(packed: FloatArray, num_classifiers: int, logs: FloatArray, out: FloatArray) -> None:
    """`concentration_into` with packed parameters."""
    theta, phi, tau, bias = unpacked(packed, num_classifiers, out.size)
    concentration_into(theta, phi, tau, bias, logs, out)


@kernel
def _copy(source: FloatArray, target: FloatArray) -> None:
    """target[:] = source, for vectors: this compiles in a tenth of the time."""
    for k in range(source.size):
        target[k] = source[k]


@kernel
def _has_duel(posterior: int, threshold: float) -> bool:
    """Is there a bound of the largest probability that tells when it is below the threshold?"""
    return posterior == INFINITE or (posterior == FINITE and threshold >= 0.5)


@kernel
def _duel(posterior: int, alpha: FloatArray, votes: IntArray, pool_size: int, enough: float) -> float:
    """An upper bound of the largest probability, cheaper than the posterior; any bound up to `enough` will do."""
    return leader_bound(alpha + votes, enough) if posterior == INFINITE else finite_duel(alpha, votes, pool_size)


@kernel
def run_stream(
    inputs: Inputs, method: CompiledMethod, state: StreamState, outputs: Outputs, first: int, last: int
) -> None:
    """Run items first .. last - 1; write `state` and `outputs`."""
    _, num_classifiers, num_classes = inputs.log_predictions.shape
    packed, losses = state.packed, state.losses
    fixed = np.ones(2 + num_classifiers * num_classes)
    fixed[2:] = 1.0 / num_classifiers
    seen = np.zeros(num_classes, dtype=np.int64)
    probs = np.empty(num_classes)
    work = np.empty(num_classes)
    rule_first, rule_second = state.rule
    same_belief = (
        method.ask_posterior == method.predict_posterior
        and method.ask_learned == method.predict_learned
        and method.rule_kind != ALWAYS
    )
    unequal = inputs.error_costs.size > 0
    duels = method.rule_kind == THRESHOLD and _has_duel(method.ask_posterior, rule_first) and not unequal
    by_bounds = method.ask_posterior == FINITE and method.rule_kind in (THRESHOLD, BLENDED) and not unequal
    looks_at_alpha = duels or by_bounds or method.rule_kind == BLENDED
    alpha = np.empty(num_classes)
    for t in range(first, last):
        pool_size = inputs.pool_sizes[t]
        logs = inputs.log_predictions[t]
        mean = inputs.mean_predictions[t]
        limit = method.max_votes
        if method.quota_kind == BY_RATE:
            limit = min(limit, binomial_quantile(inputs.quota_draws[t], pool_size, inputs.rates[t]))
        elif method.quota_kind == BY_PICKER:
            rate = picker_rate(losses, t, mean, method.picker_scale)
            limit = min(limit, binomial_quantile(inputs.quota_draws[t], pool_size, rate))
        seen[:] = 0
        asked = 0
        first_look = min(method.min_votes, limit)  # earlier votes are asked without checking the rule
        code = ASK
        is_unsampled = t < method.stop_asking and t % method.confidence_every != 0
        certain = -1  # the answer, if it is certain without a belief
        while t < method.stop_asking:
            code = stop_before_rule(seen, pool_size, method.min_votes, limit, method.stops_when_settled)
            if code == RULE:
                prior = packed if method.ask_learned else fixed
                if looks_at_alpha and asked == first_look:
                    _concentrate(prior, num_classifiers, logs, alpha)
                choice = UNSURE
                if by_bounds:
                    may_stop = is_unsampled and same_belief
                    choice = choice_by_bounds(method.rule_kind, rule_first, alpha, seen, pool_size - asked, may_stop)
                if duels and choice == UNSURE:
                    enough = rule_first - TIE_WIDTH
                    if _duel(method.ask_posterior, alpha, seen, pool_size, enough) <= enough:  # hence so is max p
                        choice = SURELY_ASKS
                if choice >= 0:
                    certain = choice
                    break
                if choice == UNSURE and method.rule_kind != ALWAYS:
                    if duels and method.ask_posterior == INFINITE and method.stops_when_settled:
                        infinite_into(alpha + seen, probs)  # what `belief_into` does for a pool that is not settled
                    else:
                        _believe(method.ask_posterior, prior, num_classifiers, logs, mean, seen, pool_size, probs)
                    if not rule_asks(
                        method.rule_kind,
                        rule_first,
                        rule_second,
                        probs,
                        seen,
                        pool_size - asked,
                        alpha,
                        inputs.error_costs,
                        inputs.tie_draws[t],
                    ):
                        break
            elif code != ASK:
                break
            if asked == inputs.recorded[t]:
                code = SHORT
                break
            seen[inputs.votes[t, asked]] += 1
            asked += 1
        if code != RULE or not same_belief:  # otherwise probs is already the belief at which the rule stopped
            prior = packed if method.predict_learned else fixed
            _believe(method.predict_posterior, prior, num_classifiers, logs, mean, seen, pool_size, probs)
        tie_draw = inputs.tie_draws[t] if t < method.stop_asking else 0.0
        label = certain if certain >= 0 else pick_label(probs, tie_draw)
        if unequal:
            label = cheapest_answer(inputs.error_costs, probs, tie_draw, work)
        if outputs.probs.shape[0] > 0:
            _copy(probs, outputs.probs[t])
        outputs.costs[t] = asked
        outputs.labels[t] = label
        outputs.confidence[t] = math.nan if is_unsampled else probs[label]
        outputs.stops[t] = code
        if t >= method.stop_asking:
            continue
        if method.quota_kind == BY_PICKER:
            picker_update(losses, t, mean, seen, pool_size, method.picker_scale)
        if method.learns:
            _learn(inputs, method, state, outputs, t, seen, asked)


@kernel
def _learn(
    inputs: Inputs,
    method: CompiledMethod,
    state: StreamState,
    outputs: Outputs,
    t: int,
    votes: IntArray,
    num_votes: int,
) -> None:
    """Add the votes of closed item t to the window; fit if a fit is due."""
    counts = state.counts
    if num_votes > 0:
        slot = counts[ENTERED] % method.window
        for m in range(inputs.log_predictions.shape[1]):
            _copy(inputs.log_predictions[t, m], state.window_predictions[slot, m])
        for k in range(votes.size):
            state.window_votes[slot, k] = votes[k]
        counts[ENTERED] += 1
        counts[VOTES] += num_votes
    num_items = min(counts[ENTERED], method.window)
    if counts[VOTES] == 0:
        return
    if not fit_is_due(t + 1, counts[FITTED], num_items, method.refit_every, method.proportional):
        return
    fit_kernel(
        state.packed,
        state.window_predictions,
        state.window_votes,
        num_items,
        method.hyperprior,
        True,  # a refit
        state.packed,
        np.empty(0),
    )
    _copy(state.packed, outputs.trace[counts[FITS]])
    outputs.trace_at[counts[FITS]] = t
    counts[FITS] += 1
    counts[FITTED] = t + 1
    counts[VOTES] = 0


@kernel
def complete_panel(votes: NDArray[np.int16], asked: int, recorded: int, pool_size: int, seen: IntArray) -> bool:
    """Add recorded votes after the first `asked` to `seen` (K,) until the pool is settled; returns whether it is."""
    for place in range(asked, recorded):
        if place > 0 and is_settled(seen, pool_size):
            break
        seen[votes[place]] += 1
    return bool(seen.sum() > 0 and is_settled(seen, pool_size))

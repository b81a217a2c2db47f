"""A whole stream in one compiled call: open, ask, stop, learn, next item. For sweeps over many knob values.

Runs the very kernels the session runs, in the same order, so that the two agree; tests hold them together over every
method. Called by `simulate`; takes plain arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.compiled import kernel
from quorate.decision.belief import ASK, INFINITE, RULE, TIE_WIDTH, belief_into, pick_label, stop_before_rule
from quorate.decision.error_costs import cheapest_answer, weigh_for_gain, weigh_for_threshold
from quorate.decision.model_picker import picker_rate, picker_update
from quorate.decision.quota import binomial_quantile
from quorate.decision.rules import ALWAYS, GAIN, THRESHOLD, rule_asks
from quorate.learning.fit import INFO_SIZE, WARM, fit_kernel
from quorate.posterior.duel import duel
from quorate.prior.concentration import concentration_into
from quorate.types import FloatArray, IntArray

NO_QUOTA, BY_RATE, BY_PICKER = range(3)
SHORT = 5  # a stop code beside those of `decision.belief`: more votes were wanted than were recorded


class Inputs(NamedTuple):
    """The stream, T items: votes (T, N) in asking order, -1 padded; uniform draws that break ties and draw quotas."""

    votes: NDArray[np.int16]
    pool_sizes: IntArray
    log_predictions: FloatArray  # (T, M, K)
    mean_predictions: FloatArray  # (T, K)
    tie_draws: FloatArray
    quota_draws: FloatArray
    rates: FloatArray  # query rates, for BY_RATE
    recorded: IntArray  # (T,) votes there are of each item: fewer than its pool where some were never recorded
    error_costs: FloatArray  # (K, K) cost of an error by truth and answer; (0, 0): every error is one error


class Plan(NamedTuple):
    """The method and the limits, as numbers: see `decision.rules` and `decision.belief` for the codes."""

    quota_kind: int
    picker_scale: float
    rule_kind: int
    rule_first: float
    rule_second: float
    stops_when_settled: bool
    ask_posterior: int
    ask_learned: bool
    predict_posterior: int
    predict_learned: bool
    learns: bool
    shape: float
    rate: float
    bias_sd: float
    window: int
    refit_every: int
    stop_asking: int  # items from this one on are answered without experts
    min_votes: int
    max_votes: int


class Outputs(NamedTuple):
    """What is written: per item (T,), and per fit the parameters (F, P) and the item after which they were fitted."""

    costs: IntArray
    labels: IntArray
    confidence: FloatArray
    stops: IntArray
    trace: FloatArray
    trace_at: IntArray
    probs: FloatArray  # (T, K) who wins the pool, as believed at the stop; (0, K): not kept


@kernel
def _weigh(inputs: Inputs, rule_kind: int, probs: FloatArray, tie_draw: float, out: FloatArray) -> None:
    """The probabilities as the rule is to see them, to out (K,): weighted by what errors cost, if that is given."""
    if inputs.error_costs.size > 0 and rule_kind == GAIN:
        weigh_for_gain(inputs.error_costs, probs, tie_draw, out)
    elif inputs.error_costs.size > 0 and rule_kind == THRESHOLD:
        weigh_for_threshold(inputs.error_costs, probs, tie_draw, out)
    else:
        out[:] = probs


@kernel
def _unpacked(
    packed: FloatArray, num_classifiers: int, num_classes: int
) -> tuple[float, float, FloatArray, FloatArray]:
    """theta, phi, tau (M, K), bias (K,): the parameters out of the order in which learning packs them."""
    end = 2 + num_classifiers * num_classes
    tau = packed[2:end].reshape((num_classifiers, num_classes))
    bias = packed[end:] if packed.size > end else np.zeros(num_classes)
    return packed[0], packed[1], tau, bias


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
    theta, phi, tau, bias = _unpacked(packed, num_classifiers, mean.size)
    belief_into(posterior, theta, phi, tau, bias, logs, mean, votes, pool_size, out)


@kernel
def _concentrate(packed: FloatArray, num_classifiers: int, logs: FloatArray, out: FloatArray) -> None:
    """`concentration_into` with packed parameters."""
    theta, phi, tau, bias = _unpacked(packed, num_classifiers, out.size)
    concentration_into(theta, phi, tau, bias, logs, out)


@kernel
def run_stream(inputs: Inputs, plan: Plan, start: FloatArray, outputs: Outputs) -> int:
    """Fill `outputs`; returns how many fits were made. `start` (P,): packed parameters before the first item."""
    num_items, num_classifiers, num_classes = inputs.log_predictions.shape
    packed = start.copy()  # theta, phi, tau, bias: learning writes here
    fixed = np.ones(2 + num_classifiers * num_classes)
    fixed[2:] = 1.0 / num_classifiers
    window_predictions = np.zeros((plan.window, num_classifiers, num_classes))
    window_votes = np.zeros((plan.window, num_classes), dtype=np.int64)
    losses = np.zeros(num_classes)
    seen = np.zeros(num_classes, dtype=np.int64)
    probs = np.empty(num_classes)
    weighted = np.empty(num_classes)
    info = np.empty(INFO_SIZE)
    same_belief = (
        plan.ask_posterior == plan.predict_posterior
        and plan.ask_learned == plan.predict_learned
        and plan.rule_kind != ALWAYS
    )
    unequal = inputs.error_costs.size > 0
    duels = plan.rule_kind == THRESHOLD and plan.ask_posterior == INFINITE and not unequal
    alpha = np.empty(num_classes)
    entered = 0
    closed_since_fit = 0
    votes_since_fit = 0
    num_fits = 0
    for t in range(num_items):
        pool_size = inputs.pool_sizes[t]
        logs = inputs.log_predictions[t]
        mean = inputs.mean_predictions[t]
        limit = plan.max_votes
        if plan.quota_kind == BY_RATE:
            limit = min(limit, binomial_quantile(inputs.quota_draws[t], pool_size, inputs.rates[t]))
        elif plan.quota_kind == BY_PICKER:
            rate = picker_rate(losses, t, mean, plan.picker_scale)
            limit = min(limit, binomial_quantile(inputs.quota_draws[t], pool_size, rate))
        seen[:] = 0
        asked = 0
        first_look = min(plan.min_votes, limit)  # before it, votes are asked without looking
        code = ASK
        while t < plan.stop_asking:
            code = stop_before_rule(seen, pool_size, plan.min_votes, limit, plan.stops_when_settled)
            if code == RULE:
                prior = packed if plan.ask_learned else fixed
                if duels:
                    if asked == first_look:
                        _concentrate(prior, num_classifiers, logs, alpha)
                    if asked < inputs.recorded[t] and duel(alpha + seen) <= plan.rule_first - TIE_WIDTH:
                        # hence so is max p: no need to integrate
                        seen[inputs.votes[t, asked]] += 1
                        asked += 1
                        continue
                if plan.rule_kind != ALWAYS:
                    _believe(plan.ask_posterior, prior, num_classifiers, logs, mean, seen, pool_size, probs)
                    _weigh(inputs, plan.rule_kind, probs, inputs.tie_draws[t], weighted)
                if not rule_asks(plan.rule_kind, plan.rule_first, plan.rule_second, weighted, seen, pool_size - asked):
                    break
            elif code != ASK:
                break
            if asked == inputs.recorded[t]:
                code = SHORT
                break
            seen[inputs.votes[t, asked]] += 1
            asked += 1
        if code != RULE or not same_belief:  # else probs is already the belief at which the rule stopped
            prior = packed if plan.predict_learned else fixed
            _believe(plan.predict_posterior, prior, num_classifiers, logs, mean, seen, pool_size, probs)
        tie_draw = inputs.tie_draws[t] if t < plan.stop_asking else 0.0
        label = pick_label(probs, tie_draw)
        if unequal:
            label = cheapest_answer(inputs.error_costs, probs, tie_draw, weighted)
        if outputs.probs.shape[0] > 0:
            outputs.probs[t] = probs
        outputs.costs[t] = asked
        outputs.labels[t] = label
        outputs.confidence[t] = probs[label]
        outputs.stops[t] = code
        if t >= plan.stop_asking:
            continue
        if plan.quota_kind == BY_PICKER:
            picker_update(losses, t, mean, seen, pool_size, plan.picker_scale)
        if not plan.learns:
            continue
        if asked > 0:
            slot = entered % plan.window
            window_predictions[slot] = logs
            window_votes[slot] = seen
            entered += 1
            votes_since_fit += asked
        closed_since_fit += 1
        if closed_since_fit >= plan.refit_every and votes_since_fit > 0:
            in_window = min(entered, plan.window)
            fit_kernel(
                packed,
                window_predictions,
                window_votes,
                in_window,
                plan.shape,
                plan.rate,
                plan.bias_sd,
                WARM,
                packed,
                info,
            )
            outputs.trace[num_fits] = packed
            outputs.trace_at[num_fits] = t
            num_fits += 1
            closed_since_fit = 0
            votes_since_fit = 0
    return num_fits

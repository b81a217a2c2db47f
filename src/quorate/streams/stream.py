"""The compiled loop over recorded votes: open, ask, stop, learn, next item (core/stream.cpp).

It decides like a `Session`; tests compare the two for every method. One call runs any number of items: a whole stream,
or a single item if a controller acts between items. Called by `runs`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import core
from quorate.model import HyperpriorNumbers, is_settled
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


def run_stream(
    inputs: Inputs, method: CompiledMethod, state: StreamState, outputs: Outputs, first: int, last: int
) -> None:
    """Run items first .. last - 1; write `state` and `outputs`."""
    numbers = method._asdict()
    scale, hyperprior = numbers.pop("picker_scale"), numbers.pop("hyperprior")
    core.run_stream(*inputs, *state, *outputs, *numbers.values(), first, last, scale, *hyperprior)


def complete_panel(votes: NDArray[np.int16], asked: int, recorded: int, pool_size: int, seen: IntArray) -> bool:
    """Add recorded votes after the first `asked` to `seen` (K,) until the pool is settled; returns whether it is."""
    for position in range(asked, recorded):
        if position > 0 and is_settled(seen, pool_size):
            break
        seen[votes[position]] += 1
    return bool(seen.sum() > 0 and is_settled(seen, pool_size))

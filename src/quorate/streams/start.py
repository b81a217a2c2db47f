"""Chooses the run for a stream and a method: compiled for built-in methods, through a `Session` for all others."""

from __future__ import annotations

from quorate.decision.rules import rule_of
from quorate.methods import Method
from quorate.streams.prepare import Stream
from quorate.streams.runs import CompiledRun, StreamOptions
from quorate.streams.session_run import SessionRun
from quorate.types import FloatArray


def start_run(
    stream: Stream,
    method: Method,
    options: StreamOptions,
    *,
    seed: int,
    error_costs: FloatArray | None = None,
    keep_probs: bool = False,
) -> CompiledRun | SessionRun:
    """A new run, before its first item. `error_costs` (K, K) by truth and answer; `seed` of the stream."""
    rule = None if method.needs_people else rule_of(method.policy)
    if rule is None:
        return SessionRun(stream, method, options, seed=seed, error_costs=error_costs, keep_probs=keep_probs)
    return CompiledRun(stream, method, rule, options, error_costs=error_costs, keep_probs=keep_probs)

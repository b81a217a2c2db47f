"""Outcomes with known curves, without running anything."""

import numpy as np

from quorate_paper.jobs import Job, JobOutcome, settings
from quorate_paper.shift.streams import DATA, FUSED, LABELS, SETTLED, Streams

MODELS, SEEDS = ("alexnet", "densenet"), (3, 4)
GRID = tuple(np.linspace(0.0, 1.0, 101))  # a run every 0.05 votes per item
END = 5.0  # votes per item with the last parameter value, in either phase


def outcome(name, model, seed, costs, errors):
    """costs, errors (Q, 2) before and after the shift; errors as shares."""
    costs, errors = np.asarray(costs, float), np.asarray(errors, float)
    parameters = settings("query_rate", tuple(np.linspace(0, 1, len(costs))))
    job = Job(DATA, 6, model, seed, "value" if name == FUSED else name, parameters)
    none = np.zeros((len(costs), 0))
    return JobOutcome(job, np.array([10, 10]), costs, errors, errors, errors, none, none, none)


def straight(name, model, seed, start=(0.4, 0.6), end=(0.02, 0.08), costs=(1.0, 1.0)):
    """Error falls in a straight line of the parameter from `start` to `end`; a phase costs its share of END."""
    at = np.array(GRID)[:, None]
    return outcome(name, model, seed, END * at * np.array(costs), (1 - at) * np.array(start) + at * np.array(end))


def made(**starts):
    """Streams in which every method is straight; `starts` of a method (dashes as underscores) replace (0.4, 0.6)."""
    outcomes = {
        name: tuple(
            straight(
                name, "all" if name == FUSED else model, seed, start=starts.get(name.replace("-", "_"), (0.4, 0.6))
            )
            for model in (MODELS[:1] if name == FUSED else MODELS)
            for seed in SEEDS
        )
        for name in LABELS
    }
    settled = tuple(outcome(SETTLED, m, s, [[END, END]], [[0.02, 0.08]]) for m in MODELS for s in SEEDS)
    return Streams(MODELS, SEEDS, outcomes | {SETTLED: settled})

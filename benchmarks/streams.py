"""Times learning and whole streams against the published algorithm."""

from __future__ import annotations

import numpy as np

from common import SHIFT, Refit, alternate, cpu_seconds, data_set, median, params_at, warm_refits
from quorate import VoteDataset, method, simulate
from quorate.model.prior import HYPERPRIORS
from quorate.streams import prepare
from quorate_paper import as_published
from report import Row

POOL, WINDOW, EVERY, SAMPLES = 6, 500, 20, 1000


def refit_row(*, count: int, steps: int, rounds: int) -> Row:
    """A warm refit, compared with 1000 steps of Adam on the same objective."""
    dataset, source = data_set(SHIFT)
    refits = warm_refits(dataset, "infexp", pool_size=POOL, window=WINDOW, count=count)

    def adam(each: Refit) -> None:
        as_published.adam(
            each.start, each.predictions, each.votes, hyperprior=each.prior, num_steps=steps, stop_early=False
        )

    ours, theirs = 0.0, 0.0
    for each in refits:  # window by window, so that the two alternate often
        own, other = alternate((each.run, 10), (lambda each=each: adam(each), 1), rounds=rounds)
        ours += median(own)
        theirs += median(other)
    note = "" if steps == 1000 else f"Adam timed on {steps} steps and scaled"
    return Row(
        "warm_refit", f"warm refit, window {WINDOW}, K={dataset.num_classes}",
        "1000 Adam steps on the same objective, NumPy",
        f"{source}: {count} windows of infexp, started from its last refit, {EVERY} items before",
        ours / count, theirs / count * 1000 / steps, note=note,
    ).at_least(200)  # fmt: skip


def infexp_row(*, items: int, rounds: int) -> Row:
    """InfExp over the stream, as published with its early stop."""
    dataset, source = data_set(SHIFT)
    stream = prepare(dataset, POOL, 0, 0)
    rng = np.random.default_rng(0)

    def published() -> None:
        as_published.stream(stream.votes, stream.predictions[:, 0], method="infexp", pool_size=POOL, threshold=0.95,
                            rng=rng, num_items=items)  # fmt: skip

    ours, theirs = [], []
    _simulate(dataset, "infexp", EVERY)
    for _ in range(rounds):
        ours.append(cpu_seconds(lambda: _simulate(dataset, "infexp", EVERY), 20))
        theirs.append(cpu_seconds(published))
    whole = items == dataset.num_items
    return Row(
        "infexp_stream", f"InfExp, {dataset.num_items} items, refit every {EVERY}",
        f"as published: Monte Carlo of {SAMPLES} samples, Adam with its early stop", f"{source}, first classifier",
        median(ours), median(theirs) * dataset.num_items / items,
        note="CPU seconds" + ("" if whole else f"; published algorithm timed on the first {items} items and scaled"),
    ).at_least(40)  # fmt: skip


def finexp_row(*, refits: int, samples: int, decisions: int, rounds: int) -> Row:
    """FinExp over the stream. The published one takes minutes per run, so its decisions and refits are sampled.

    Every timed refit is complete (importance samples drawn, Adam until its early stop) and starts from the optimum of
    the previous refit; the time of the others is assumed proportional to the items in their window.
    """
    dataset, source = data_set(SHIFT)
    run = simulate(dataset, "finexp", pool_size=POOL, model=0, seed=0)
    stream = prepare(dataset, POOL, 0, 0)
    rng = np.random.default_rng(0)
    ours = [cpu_seconds(lambda: _simulate(dataset, "finexp", EVERY))]
    per_row = []
    published = method("finexp")
    for each in warm_refits(dataset, published, pool_size=POOL, window=WINDOW, count=refits):
        per_row.append(cpu_seconds(lambda each=each: _published_refit(each, samples, rng)) / len(each.votes))
        ours += [cpu_seconds(lambda: _simulate(dataset, "finexp", EVERY)) for _ in range(rounds)]
    windows = [min(int((run.costs[: at + 1] > 0).sum()), WINDOW) for at, _ in run.trace]
    learning = median(per_row) * SAMPLES / samples * sum(windows)
    asked = np.repeat(np.arange(dataset.num_items), run.costs)  # there was a decision before each vote
    chosen = rng.choice(asked, size=decisions)
    deciding = cpu_seconds(lambda: [_published_decision(stream, run, int(t), rng) for t in chosen])
    deciding *= len(asked) / decisions
    return Row(
        "finexp_stream", f"FinExp, {dataset.num_items} items, refit every {EVERY}",
        f"as published: Monte Carlo and importance sampling, M={SAMPLES}, Adam with its early stop",
        f"{source}, first classifier", median(ours[1:]), learning + deciding,
        note=f"CPU seconds; published algorithm timed on {refits} of {len(windows)} refits and {decisions} of "
        f"{len(asked)} decisions, scaled: {learning:.0f} s of learning, {deciding:.1f} s of deciding",
        extra={"learning": learning, "deciding": deciding},
    ).at_least(500)  # fmt: skip


def _simulate(dataset: VoteDataset, method: str, every: int) -> None:
    simulate(dataset, f"{method}:refit_every={every}", pool_size=POOL, model=0, seed=0)


def _published_refit(refit: Refit, samples: int, rng: np.random.Generator) -> None:
    drawn = as_published.importance_samples(refit.votes, pool_size=POOL, num_samples=samples, rng=rng)
    as_published.adam(refit.start, refit.predictions, refit.votes, hyperprior=HYPERPRIORS["finexp"], samples=drawn)


def _published_decision(stream, run, item: int, rng: np.random.Generator) -> None:
    params = params_at(run, item) or HYPERPRIORS["finexp"].mode(stream.counts.shape[1])
    alpha = as_published._alpha(params, stream.predictions[item, 0])
    seen = np.bincount(stream.votes[item, : rng.integers(run.costs[item])], minlength=stream.counts.shape[1])
    as_published.winner_finite(alpha, seen, pool_size=int(stream.pool_sizes[item]), num_samples=SAMPLES, rng=rng)

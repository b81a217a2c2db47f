"""What the deviations from the paper that docs/paper-notes.md lists amount to, on the ImageNet-16H shift stream.

    QUORATE_DATA=folder python benchmarks/deviations.py

Prints a line for each; DenseNet, seed 3. The effects of the estimators and of the released code are in the shift table.
"""

from __future__ import annotations

import numpy as np

import quorate
from quorate.methods import method
from quorate.model.learning.fit import fit
from quorate.model.posterior.infinite import plurality_infinite
from quorate.model.prior import concentration
from quorate.streams import prepare
from quorate_paper.datasets import data_folder, imagenet16h_shift

MODEL, SEED, POOL, THRESHOLD = "densenet", 3, 6, 0.9
FIRST_ITEMS, THRESHOLDS = 400, (0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)


def pure_infexp(stream, threshold, learner):
    """Votes asked and answers if InfExp stops by its own posterior alone, or when everybody was asked."""
    num_classes = stream.counts.shape[1]
    params, seen = learner.hyperprior.mode(num_classes), np.zeros((FIRST_ITEMS, num_classes), dtype=np.int64)
    answers = np.zeros(FIRST_ITEMS, dtype=np.int64)
    for item in range(FIRST_ITEMS):
        alpha = concentration(params, stream.mean_predictions[item])
        for vote in (*stream.votes[item], None):
            probs = plurality_infinite(alpha, seen[item])
            if vote is None or probs.max() > threshold:
                break
            seen[item, vote] += 1
        answers[item] = probs.argmax()
        if (item + 1) % learner.refit_every == 0 and seen.any():
            rows = np.flatnonzero(seen.sum(axis=1))[-learner.window :]
            params = fit(stream.mean_predictions[rows], seen[rows], hyperprior=learner.hyperprior, start=params)[0]
    return seen.sum(axis=1), answers


def main():
    data = imagenet16h_shift.load(data_folder(None))
    stream = prepare(data, POOL, MODEL, SEED, "shuffled")

    def run(name, **parameters):
        return quorate.simulate(data, method(name, **parameters), pool_size=POOL, model=MODEL, seed=SEED)

    def said(name, **parameters):
        found = run(name, threshold=THRESHOLD, **parameters)
        return f"{found.costs.mean():.2f} votes, {100 * found.expected_errors.mean():.2f} % wrong"

    print(f"InfExp stops at a settled pool: of the first {FIRST_ITEMS} items this many differ from the pure rule")
    for threshold in THRESHOLDS:
        ours = run("infexp", threshold=threshold)
        costs, answers = pure_infexp(stream, threshold, method("infexp").learner)
        votes = ours.costs[:FIRST_ITEMS] != costs
        differ = votes | (ours.predictions[:FIRST_ITEMS] != answers)
        more = costs.sum() - ours.costs[:FIRST_ITEMS].sum()
        print(f"  threshold {threshold:g}: {differ.sum()} ({votes.sum()} in votes, which are {more} more)")
    for name in ("finexp", "infexp"):
        print(f"{name} at {THRESHOLD:g}: {said(name)}; window 100: {said(name, window=100)}; "
              f"a fit after every item: {said(name, refit_every=1)}")  # fmt: skip
    found = run("finexp", threshold=THRESHOLD)
    counts = stream.counts
    tied = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1
    drawn = 100 * (found.predictions != stream.consensus).mean()
    print(f"ties: {100 * tied.mean():.1f} % of the pools; finexp at {THRESHOLD:g}: {drawn:.2f} % wrong if drawn once")


if __name__ == "__main__":
    main()

"""The crowd model on crowds with known truth: accuracy at equal votes, spammers, how sure it is, cost per vote.

`QUORATE_DATA=folder python benchmarks/crowds.py [--seeds 3]` prints the figures of docs/peers.md, "Crowds".
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.csv as arrow_csv

from common import machine, say
from quorate import compiled
from quorate.experts.ballots import Ballots
from quorate.experts.calibration import calibrated, temperature
from quorate.experts.copies import copied_pairs
from quorate.experts.crowd import type_weights
from quorate.experts.crowd_stream import run_crowd
from quorate.experts.pairs import votes_side_by_side
from quorate.experts.quality import FEWEST_NAMED, LIKELY
from quorate.validate import floored

SPAMMERS = ("guesses", "one label", "copies the classifier", "copies a person")
HALVINGS = 12  # steps of the search for a doubt that asks for the wanted votes per item
KNOWN = 50  # items of known truth that calibrate


def crowd_of(folder, name):
    """A published crowd: ballots and true classes."""
    votes = arrow_csv.read_csv(folder / "crowd" / f"{name}_answer.csv").to_pydict()
    gold = arrow_csv.read_csv(folder / "crowd" / f"{name}_truth.csv").to_pydict()
    truths = dict(zip(gold["question"], gold["truth"], strict=True))
    last = {(q, w): a for q, w, a in zip(votes["question"], votes["worker"], votes["answer"], strict=True)}
    items, item = np.unique([q for q, _ in last], return_inverse=True)
    people, person = np.unique([w for _, w in last], return_inverse=True)
    classes = sorted({*last.values(), *truths.values()})
    number = {each: k for k, each in enumerate(classes)}
    label = np.array([number[each] for each in last.values()])
    truth = np.array([number[truths[each]] if each in truths else -1 for each in items.tolist()])
    return Ballots(item, person, label, *(tuple(map(str, each)) for each in (items, people, classes))), truth, None


def images_of(folder, name, model=None):
    """CIFAR-10H or ImageNet-16H with annotator ids; `model`: the classifier, if one is used."""
    data = np.load(folder / f"{name}.npz", allow_pickle=False)
    item, column = np.nonzero(data["votes"] >= 0)
    people, person = np.unique(data["annotator_ids"][item, column], return_inverse=True)
    label = data["votes"][item, column].astype(np.int64)
    num_items, K = len(data["votes"]), data["probs"].shape[2]
    names = (range(num_items), people, range(K))
    predictions = None
    if model is not None:
        probs = data["probs"][list(data["models"]).index(model)].astype(float)
        predictions = floored(np.where(np.isnan(probs), 1 / K, probs))
    ballots = Ballots(item, person, label, *(tuple(map(str, each)) for each in names))
    return ballots, data["labels"].astype(np.int64), predictions


def with_spammers(ballots, predictions, seed):
    """A fifth of the people vote carelessly, in four ways; (num_people,) 0 honest, 1 to 4 as in SPAMMERS."""
    rng = np.random.default_rng(seed)
    num_people, K = len(ballots.people), len(ballots.classes)
    kind = np.zeros(num_people, dtype=int)
    chosen = rng.permutation(num_people)[: num_people // 5]
    kind[chosen] = 1 + np.arange(len(chosen)) % 4
    labels, how = ballots.label.copy(), kind[ballots.person]
    labels[how == 1] = rng.integers(K, size=int((how == 1).sum()))
    labels[how == 2] = rng.integers(K, size=num_people)[ballots.person[how == 2]]
    labels[how == 3] = predictions.argmax(axis=1)[ballots.item[how == 3]]
    honest = np.flatnonzero(how == 0)[::-1]
    someone = np.zeros(len(ballots.items), dtype=int)
    someone[ballots.item[honest]] = ballots.label[honest]
    labels[how == 4] = someone[ballots.item[how == 4]]
    return Ballots(ballots.item, ballots.person, labels, ballots.items, ballots.people, ballots.classes), kind


def at_votes(ballots, predictions, votes, seed):
    """The run that asks for about so many votes per item."""
    low, high, best = -14.0, 0.0, None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        run = run_crowd(ballots, predictions, doubt=float(np.exp(middle)), seed=seed)
        asked = run.num_votes.mean()
        if best is None or abs(asked - votes) < abs(best.num_votes.mean() - votes):
            best = run
        low, high = (middle, high) if asked > votes else (low, middle)
    return best


def majority(ballots, truth, votes, seed):
    """Share right of the majority of `votes` random votes of each item, ties in parts."""
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(ballots.num_votes), ballots.item))
    place = np.arange(ballots.num_votes) - np.searchsorted(ballots.item[order], ballots.item[order])
    counts = ballots.only(order[place < votes]).counts if votes < 50 else ballots.counts
    top = counts == counts.max(axis=1, keepdims=True)
    shares = top / top.sum(axis=1, keepdims=True)
    known = truth >= 0
    return 100 * shares[known, truth[known]].mean()


def right(beliefs, truth):
    """Share right, in per cent."""
    known = truth >= 0
    return 100 * (beliefs.argmax(axis=1) == truth)[known].mean()


def auc(scores, is_spam):
    """Area under the ROC curve."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    positive = is_spam.sum()
    return (ranks[is_spam].sum() - positive * (positive + 1) / 2) / (positive * (len(scores) - positive))


def accuracy_rows(folder, seeds):
    """Truth accuracy at equal votes, beside the majority of as many votes."""
    cases = [
        ("product", crowd_of(folder, "product"), (2, 3)),
        ("dog", crowd_of(folder, "dog"), (2, 4, 10)),
        ("CIFAR-10H, no classifier", images_of(folder, "cifar10h"), (2,)),
        ("CIFAR-10H, cnn-89", images_of(folder, "cifar10h", "cnn-89"), (1, 2)),
        ("ImageNet-16H, no classifier", images_of(folder, "imagenet16h"), (2, 3)),
        ("ImageNet-16H, resnet152", images_of(folder, "imagenet16h", "resnet152_baseline"), (3,)),
    ]
    for name, (ballots, truth, predictions), targets in cases:
        for votes in targets:
            runs = [at_votes(ballots, predictions, votes, seed) for seed in seeds]
            plain = np.mean([majority(ballots, truth, votes, seed) for seed in seeds])
            online, revised = (np.mean([right(getattr(run, w), truth) for run in runs]) for w in ("online", "revised"))
            asked = np.mean([run.num_votes.mean() for run in runs])
            yield f"| {name} | {asked:.2f} | {plain:.1f} | {online:.1f} | {revised:.1f} |"


def spam_lines(folder, seeds):
    """Error and detection with a fifth of spammers in CIFAR-10H, at 2 votes per item."""
    honest, truth, predictions = images_of(folder, "cifar10h", "cnn-89")
    for shown, name in ((None, "no classifier"), (predictions, "cnn-89")):
        found = []
        for seed in seeds:
            ballots, kind = with_spammers(honest, predictions, seed)
            run = at_votes(ballots, shown, 2, seed)
            careless, votes = np.zeros(len(kind)), run.state.labels.sum(axis=1)
            for e in range(len(kind)):
                weights = np.empty(4)
                type_weights(run.state.evidence[e, 1], weights)
                careless[e] = 1 - weights[0]
            seen = votes > 0
            looked_at = [seen & ((kind == 0) | (kind == k)) for k in (1, 2, 3)]
            areas = [auc(careless[each], kind[each] > 0) for each in looked_at]
            named = (votes >= FEWEST_NAMED) & (careless > LIKELY)
            blamed = (named & (kind == 0)).sum() / (seen & (kind == 0)).sum()
            errors = 100 - right(run.online, truth), 100 - majority(ballots, truth, 2, seed)
            found.append((*errors, *areas, (kind[named] > 0).mean(), blamed, np.median(votes[seen])))
        error, plain, guesses, one_label, copier, precision, blamed, votes = np.mean(found, axis=0)
        yield (
            f"{name}: error {error:.2f} % (majority {plain:.1f} %); area under the ROC curve: guesses {guesses:.3f}, "
            f"one label {one_label:.3f}, copies the classifier {copier:.3f}; of those named {100 * precision:.0f} % "
            f"are spammers, {100 * blamed:.1f} % of honest people are named; median {votes:.0f} votes a person"
        )


def honesty_lines(folder, seeds):
    """Mean score beside the share right, before and after calibration on 50 items of known truth."""
    for name, (ballots, truth, predictions) in (
        ("dog", crowd_of(folder, "dog")),
        ("product", crowd_of(folder, "product")),
        ("ImageNet-16H", images_of(folder, "imagenet16h")),
    ):
        found = []
        for seed in seeds:
            beliefs = run_crowd(ballots, predictions, seed=seed).revised
            known = np.random.default_rng(seed).permutation(np.flatnonzero(truth >= 0))
            gold, rest = known[:KNOWN], known[KNOWN:]
            after = calibrated(beliefs, temperature(beliefs[gold], truth[gold]))
            sure = (each[rest].max(axis=1).mean() for each in (beliefs, after))
            found.append((*sure, right(beliefs, truth) / 100))
        before, after, share = np.mean(found, axis=0)
        yield f"{name}: mean score {before:.2f}, calibrated on {KNOWN} items {after:.2f}, right {share:.2f}"


def copied_lines(folder):
    """How many pairs of real people are suspected."""
    for name, (ballots, _, _) in (
        ("dog", crowd_of(folder, "dog")),
        ("product", crowd_of(folder, "product")),
        ("ImageNet-16H", images_of(folder, "imagenet16h")),
    ):
        pairs = votes_side_by_side(ballots)
        found = copied_pairs(ballots, run_crowd(ballots), side_by_side=pairs)
        yield f"{name}: {len(found)} of {len(pairs[1])} pairs"


def cost_line():
    """Microseconds a vote, 10 classes, 10,000 people."""
    rng = np.random.default_rng(0)
    num_items, K, num_people = 20_000, 10, 10_000
    item = np.repeat(np.arange(num_items), 5)
    truth = rng.integers(K, size=num_items)
    label = np.where(rng.random(len(item)) < 0.8, truth[item], rng.integers(K, size=len(item)))
    person = rng.integers(num_people, size=len(item))
    names = (tuple(map(str, range(number))) for number in (num_items, num_people, K))
    ballots = Ballots(item, person, label, *names)
    run_crowd(ballots.only(item < 10))
    began = time.process_time()
    run = run_crowd(ballots)
    spent = 1e6 * (time.process_time() - began) / len(item)
    size = sum(each[0].nbytes for each in run.state[:4])
    return f"{spent:.1f} us of CPU a vote, K = {K}, {num_people:,} people, two revisions an item; {size} bytes a person"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(3, 3 + parser.parse_args().seeds)
    folder = os.environ.get("QUORATE_DATA")
    if folder is None:
        sys.exit("set QUORATE_DATA to the folder with crowd/, cifar10h.npz and imagenet16h.npz")
    compiled.compile_here()
    say(machine())
    say(cost_line())
    say("\n| votes with known truth | votes per item | majority | online | revised |\n|---|---|---|---|---|")
    for line in accuracy_rows(Path(folder), seeds):
        say(line)
    say("\nA fifth of spammers in CIFAR-10H, 2 votes per item")
    for line in spam_lines(Path(folder), seeds):
        say(line)
    say("\nPairs of honest people that look copied")
    for line in copied_lines(Path(folder)):
        say(line)
    say("\nHow sure, how often right")
    for line in honesty_lines(Path(folder), seeds):
        say(line)


if __name__ == "__main__":
    main()

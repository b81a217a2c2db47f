"""The crowd model on crowds with known truth: accuracy at equal votes, spammers, how sure it is, cost per vote.

`QUORATE_DATA=folder python benchmarks/crowds.py [--only PART ...] [--seeds 3]` prints the figures of docs/peers.md,
"The class behind the votes", and at the end every required figure beside what was measured; it ends with 1 if one is
missed. Dog has 807 items, so the choice of votes and orders matters more: it is read in 12 times as many.
`--only same --peers` adds the columns of crowd-kit and cleanlab (`pip install 'quorate[peers]'`), on one draw of votes
each and on `--items` random items of each set.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow.csv as arrow_csv

from common import machine, say
from quorate import compiled
from quorate.experts.ballots import Ballots
from quorate.experts.calibration import calibrated, temperature
from quorate.experts.copies import copied_pairs
from quorate.experts.crowd import TYPES, type_weights
from quorate.experts.crowd_stream import run_crowd
from quorate.experts.pairs import votes_side_by_side
from quorate.experts.quality import FEWEST_NAMED, LIKELY
from quorate.posterior.settled import plurality_shares
from quorate.validate import floored
from required import Required

SPAMMERS = ("guesses", "one label", "copies the classifier", "copies a person")
HALVINGS = 12  # steps of the search for a doubt that asks for the wanted votes per item
KNOWN = 50  # items of known truth that calibrate
PARTS = {
    "cost": "Cost",
    "accuracy": "Votes asked for one by one",
    "same": "The same votes, read in several ways",
    "spam": "A fifth of spammers in CIFAR-10H, 2 votes per item",
    "copied": "Pairs of honest people that look copied",
    "sure": "How sure, how often right",
}
PEERS = ("Dawid-Skene", "one-coin", "MACE", "CROWDLAB")
# Required, in per cent right by set and votes per item, and elsewhere
REQUIRED = {
    ("product", 2): 93.0,
    ("dog", 4): 81.0,
    ("CIFAR-10H, no classifier", 2): 98.0,
    ("ImageNet-16H, resnet152", 3): 87.7,
}
MOST_BELOW = 0.3  # points below the majority of the same votes
SMALL, MORE_ORDERS = 1000, 12  # sets with fewer items are read in so many times as many orders
SPAM_ERROR, DETECTED, PRECISE, MOST_MICROSECONDS = 3.0, 0.99, 0.93, 20


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


def cut_of(ballots, votes, seed):
    """So many random votes of each item; all of an item that has no more."""
    order = np.lexsort((np.random.default_rng(seed).random(ballots.num_votes), ballots.item))
    place = np.arange(ballots.num_votes) - np.searchsorted(ballots.item[order], ballots.item[order])
    return ballots.only(order[place < votes])


def asked_for(ballots, run, seed):
    """The votes that a run asked for: it takes those of each item in an order drawn from the seed."""
    rng = np.random.default_rng(seed)
    position = rng.permutation(len(ballots.items))
    order = np.lexsort((rng.random(ballots.num_votes), position[ballots.item]))
    where = position[ballots.item[order]]
    place = np.arange(ballots.num_votes) - np.searchsorted(where, where)
    return ballots.only(order[place < run.num_votes[ballots.item[order]]])


def majority(ballots, truth):
    """Share right of the majority, ties in parts, in per cent."""
    shares, known = plurality_shares(ballots.counts), truth >= 0
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


def sets_of(folder, named=("",)):
    """Sets with known truth: title, (ballots, truth, predictions), mean votes to ask for, votes of the cuts.

    `named`: beginnings of the titles.
    """
    yield from (each for each in _all_sets(folder) if each[0].startswith(tuple(named)))


def _all_sets(folder):
    yield "product", crowd_of(folder, "product"), (2, 3), (1, 2, 3)
    yield "dog", crowd_of(folder, "dog"), (2, 4, 10), (1, 2, 4, 7, 10)
    yield "CIFAR-10H, no classifier", images_of(folder, "cifar10h"), (2,), (1, 2, 5)
    yield "CIFAR-10H, cnn-89", images_of(folder, "cifar10h", "cnn-89"), (1, 2), (1, 2, 5)
    yield "ImageNet-16H, no classifier", images_of(folder, "imagenet16h"), (2, 3), (1, 2, 3, 7)
    yield "ImageNet-16H, resnet152", images_of(folder, "imagenet16h", "resnet152_baseline"), (3,), (1, 2, 3, 7)


def orders_of(ballots, seeds):
    """The seeds that a set is read with: more for a small one."""
    return range(seeds.start, seeds.start + MORE_ORDERS * len(seeds)) if len(ballots.items) < SMALL else seeds


def standard_error(values):
    """Of the mean over the orders; 0 of a single one."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def accuracy_lines(folder, seeds, required, named):
    """Truth accuracy where votes are asked for one by one, beside the majority of as many, and of the same votes."""
    heads = ("votes with known truth", "votes per item", "majority of as many", "of the same", "online")
    yield f"| {' | '.join(heads)} | revised (spread over orders) |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, (ballots, truth, predictions), targets, _ in sets_of(folder, named):
        for votes in targets:
            found = np.array([_asked(ballots, truth, predictions, votes, s) for s in orders_of(ballots, seeds)])
            asked, plain, same, online, revised = found.mean(axis=0)
            error = standard_error(found[:, 4])
            where = f"{name}, {votes} votes per item"
            if (name, votes) in REQUIRED:
                what = f"{where}: % right, revised (standard error {error:.2f})"
                required.least(what, revised, REQUIRED[name, votes])
            check_majority(required, where, found[:, 2:])
            yield f"| {name} | {asked:.2f} | {plain:.1f} | {same:.1f} | {online:.1f} | {revised:.1f} ({error:.2f}) |"


def _asked(ballots, truth, predictions, votes, seed):
    run = at_votes(ballots, predictions, votes, seed)
    plain, same = (majority(each, truth) for each in (cut_of(ballots, votes, seed), asked_for(ballots, run, seed)))
    return run.num_votes.mean(), plain, same, right(run.online, truth), right(run.revised, truth)


def check_majority(required, where, shares):
    """Online and revised answers against the majority of the same votes; shares (orders, 3): majority first."""
    for how, place in (("online", 1), ("revised", 2)):
        points = shares[:, place] - shares[:, 0]
        error = f"standard error {standard_error(points):.2f}"
        what = f"{where}, {how}: points against the majority of the same votes ({error})"
        required.least(what, points.mean(), -MOST_BELOW, "{:+.2f}")


def same_lines(folder, seeds, required, named, *, with_peers, num_items):
    """Truth accuracy of each way to read the same votes: so many random ones of every item."""
    names = PEERS if with_peers else ()
    heads = ("votes with known truth", "items", "votes of each", "majority", "online", "revised", *names)
    yield f"| {' | '.join(heads)} |"
    yield "|---|" + "---:|" * (5 + len(names))
    for name, every, _, cuts in sets_of(folder, named):
        is_cut = num_items is not None and num_items < len(every[0].items)
        ballots, truth, predictions = part_of(*every, seeds.start, num_items) if is_cut else every
        for votes in cuts:
            orders = seeds if with_peers else orders_of(ballots, seeds)
            found = [_read(cut_of(ballots, votes, seed), truth, predictions, seed, with_peers) for seed in orders]
            shares = np.mean(found, axis=0)
            if not with_peers:  # a single draw says too little
                check_majority(required, f"{name}, {votes} votes of every item", np.array(found))
            said = " | ".join("" if np.isnan(x) else f"{x:.1f}" for x in shares)
            yield f"| {name} | {len(ballots.items):,} | {votes} | {said} |"


def _read(ballots, truth, predictions, seed, with_peers):
    run = run_crowd(ballots, predictions, seed=seed)
    found = [majority(ballots, truth), right(run.online, truth), right(run.revised, truth)]
    if with_peers:
        known, labels = truth >= 0, import_module("peers_models").truth_labels(ballots, predictions)
        found += [100 * (labels[name] == truth)[known].mean() if name in labels else np.nan for name in PEERS]
    return found


def half_of(ballots, truth, predictions, seed):
    """Half of the items, with all their votes."""
    return part_of(ballots, truth, predictions, seed, len(ballots.items) // 2)


def part_of(ballots, truth, predictions, seed, num_items):
    """So many random items, with all their votes."""
    keep = np.sort(np.random.default_rng(seed).permutation(len(ballots.items))[:num_items])
    place = np.full(len(ballots.items), -1)
    place[keep] = np.arange(len(keep))
    part = ballots.only(place[ballots.item] >= 0)
    names = tuple(ballots.items[i] for i in keep)
    return Ballots(place[part.item], part.person, part.label, names, part.people, part.classes), truth[keep], (
        None if predictions is None else predictions[keep]
    )  # fmt: skip


def spam_lines(folder, seeds, required):
    """Error and detection with a fifth of spammers in CIFAR-10H, at 2 votes per item: all items, and half of them."""
    every = images_of(folder, "cifar10h", "cnn-89")
    for shown, name in ((False, "no classifier"), (True, "cnn-89")):
        for halved in (False, True):
            chosen = [(half_of(*every, seed) if halved else every, seed) for seed in seeds]
            found = [_spammed(*each, shown, seed) for each, seed in chosen]
            error, plain, *areas, precision, any_precision, blamed, copiers, votes = np.mean(found, axis=0)
            guesses, one_label, copier = areas
            what = f"{name}, median {votes:.0f} votes a person"
            if halved:
                required.least(f"{what}: area under the ROC curve, guesses", guesses, DETECTED, "{:.3f}")
                required.least(f"{what}: area under the ROC curve, one label", one_label, DETECTED, "{:.3f}")
                required.least(f"{what}: share of spammers among those named", precision, PRECISE, "{:.3f}")
            if not halved and not shown:
                required.most(f"{what}, a fifth of spammers: error, %", error, SPAM_ERROR)
            yield (
                f"{what}: error {error:.2f} % (majority {plain:.1f} %); area under the ROC curve: guesses "
                f"{guesses:.3f}, one label {one_label:.3f}, copies the classifier {copier:.3f}; of those named "
                f"{100 * precision:.0f} % are spammers ({100 * any_precision:.0f} % if people with fewer than "
                f"{FEWEST_NAMED} votes were named too), {100 * blamed:.1f} % of honest people are named, and "
                f"{100 * copiers:.0f} % of the copiers of the classifier who have as many votes"
            )


def _spammed(honest, truth, predictions, shown, seed):
    """One draw of spammers: errors, detection of three kinds, precision, honest people and copiers named, votes."""
    ballots, kind = with_spammers(honest, predictions, seed)
    run = at_votes(ballots, predictions if shown else None, 2, seed)
    weights, votes = np.empty((len(kind), len(TYPES))), run.state.labels.sum(axis=1)
    for e in range(len(kind)):
        type_weights(run.state.evidence[e, 1], weights[e])
    seen, at_random = votes > 0, weights[:, 1] + weights[:, 2]  # by chance or by habit, whatever the item
    looked_at = [seen & ((kind == 0) | (kind == k)) for k in (1, 2, 3)]
    scores = (at_random, at_random, weights[:, 3])
    areas = [auc(score[each], kind[each] > 0) for score, each in zip(scores, looked_at, strict=True)]
    likely = seen & (1 - weights[:, 0] > LIKELY)
    named = likely & (votes >= FEWEST_NAMED)
    blamed = (named & (kind == 0)).sum() / (seen & (kind == 0)).sum()
    copiers = named[(kind == 3) & (votes >= FEWEST_NAMED)].mean()
    errors = 100 - right(run.online, truth), 100 - majority(cut_of(ballots, 2, seed), truth)
    shares = (kind[named] > 0).mean(), (kind[likely] > 0).mean(), blamed, copiers
    return *errors, *areas, *shares, np.median(votes[seen])


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


def cost_lines(required):
    """Microseconds a vote, 10 classes, 10,000 people; bytes a person."""
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
    required.most(f"crowd, K = {K}, {num_people:,} people: us of CPU a vote", spent, MOST_MICROSECONDS, "{:.1f}")
    documented = 8 * (K * K + K + 9)
    required.most(f"crowd, K = {K}: bytes a person, as documented", size, documented, "{:.0f}")
    yield f"{spent:.1f} us of CPU a vote, K = {K}, {num_people:,} people, two revisions an item; {size} bytes a person"


def measure(required, arguments=None):
    """The parts that the arguments name (None: those of the command line); their requirements go into `required`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--peers", action="store_true", help="crowd-kit and cleanlab beside it, in the part `same`")
    parser.add_argument("--sets", nargs="+", default=[""], help="beginnings of titles, in `accuracy` and `same`")
    parser.add_argument("--items", type=int, help="so many random items of each set, in the part `same`")
    chosen = parser.parse_args(arguments)
    seeds = range(3, 3 + chosen.seeds)
    folder = Path(os.environ.get("QUORATE_DATA") or sys.exit("set QUORATE_DATA to the folder with crowd/, ..."))
    compiled.compile_here()
    say(machine())
    lines = {
        "cost": lambda: cost_lines(required),
        "accuracy": lambda: accuracy_lines(folder, seeds, required, chosen.sets),
        "same": lambda: same_lines(
            folder, seeds, required, chosen.sets, with_peers=chosen.peers, num_items=chosen.items
        ),
        "spam": lambda: spam_lines(folder, seeds, required),
        "copied": lambda: copied_lines(folder),
        "sure": lambda: honesty_lines(folder, seeds),
    }
    for part in chosen.only:
        say(f"\n{PARTS[part]}")
        for line in lines[part]():
            say(line)


def main():
    required = Required()
    measure(required)
    required.end()


if __name__ == "__main__":
    main()

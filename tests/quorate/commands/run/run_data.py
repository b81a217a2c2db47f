"""Small tables of votes and predictions for the tests of `quorate run`, clean and dirty."""

import csv

import numpy as np

from quorate.datasets import synthetic


def stream(num_items=120, pool_size=5, num_classes=3, seed=3, **dials):
    return synthetic(num_items=num_items, pool_size=pool_size, num_classes=num_classes, seed=seed, **dials)


def vote_rows(data):
    """Rows (task, worker, label), item by item."""
    rows, places = np.nonzero(data.votes >= 0)
    return [(f"i{t}", f"w{p}", data.classes[data.votes[t, p]]) for t, p in zip(rows, places, strict=True)]


def prediction_rows(data, model=0):
    return [(f"i{t}", *map(float, data.predictions[model, t])) for t in range(data.num_items)]


def write(path, header, rows, encoding="utf-8"):
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file).writerows([header, *rows])
    return path


def write_tables(folder, data):
    """votes.csv and probs.csv of a data set."""
    folder.mkdir(parents=True, exist_ok=True)
    votes = write(folder / "votes.csv", ("task", "worker", "label"), vote_rows(data))
    return votes, write(folder / "probs.csv", ("id", *data.classes), prediction_rows(data))


def write_dirty(folder, data):
    """The same tables with what real ones have: a duplicate, a changed vote, blanks, unknown ids, a byte-order mark."""
    rows = vote_rows(data)
    last = (data.num_items - 1, data.classes)
    dirt = [rows[0], ("i1", "w0", data.classes[1]), ("i1", "w0", data.classes[2]), ("i2", "w9", ""), ("", "w1", "x")]
    dirt += [("i3", "w9", f" {last[1][0]} "), ("only-voted", "w1", data.classes[0]), ("", "", "")]
    probs = prediction_rows(data)
    probs[4] = ("i4", *(0.98 * p for p in probs[4][1:]))
    probs[5] = ("i5", *[""] * data.num_classes)
    votes = write(folder / "dirty.csv", ("task", "worker", "label"), [*rows, *dirt], encoding="utf-8-sig")
    extra = [("only-predicted", *probs[0][1:])]
    return votes, write(folder / "dirty-probs.csv", ("id", *data.classes), [*probs, *extra])

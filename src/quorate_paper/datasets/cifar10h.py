"""CIFAR-10H: 10,000 images, 10 classes, about 50 votes each (Peterson et al., ICCV 2019) -> `VoteDataset`.

Reads the paper's own votes and predictions if a folder has both; else `cifar10h.npz`, the authors' pickle of votes, or
the counts published with CIFAR-10H.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quorate.datasets import expand_counts, load_npz, vote_dataset
from quorate.packed_files import plain_arrays
from quorate.types import VoteDataset
from quorate.validate import invalid
from quorate_paper.datasets.content import with_predictions
from quorate_paper.datasets.places import PICKLES, beside, locate, papers_own, read_from, unknown_form
from quorate_paper.datasets.plain_pickle import read_pickle
from quorate_paper.datasets.prediction_files import Paths, read_predictions

NAME = "cifar10h"
IMBALANCED = "cifar10h_imbalanced"
IMBALANCED_FILES = ("cifar10h_imbalanced.npz",)
FILES = ("cifar10h.npz", "cifar10h_annotator_preds.pkl", "cifar10h-counts.npy")
PREDICTIONS = ("cifar10-fixmatch-rs1-s40.pkl",)
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SORTED = "votes within a row are sorted by annotator: a column is not a person (simulations permute each row)"
FORMS = "cifar10h.npz, the votes (items, votes) as a pickle or .npy, or the counts (items, 10) as .npy"


def load(path: str | Path | None = None, *, predictions: Paths | None = None) -> VoteDataset:
    """CIFAR-10H from a file or a folder; None: the folder in `QUORATE_DATA`, else the user's cache.

    `predictions`: file(s) of classifiers' probabilities (items, 10) or (models, items, 10), rows in the order of the
    CIFAR-10 test set: .npy, .npz, .csv, .parquet or a pickle of plain arrays. Required for files of votes only, unless
    the authors' `cifar10-fixmatch-rs1-s40.pkl` is near; its classifiers are named paper-0, paper-1, ... If a folder has
    both of the authors' files, only these are read; `notes` say which file was read.

    >>> load("nowhere")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    quorate.errors.InvalidInput: path='nowhere' is neither a file nor a folder with cifar10h.npz, ...
    """
    published = papers_own(path, (FILES[1], *PREDICTIONS), dataset=NAME) if predictions is None else None
    file = published[0] if published else locate(path, FILES, dataset=NAME)
    if file.suffix == ".npz":
        dataset = with_predictions(load_npz(file, name=NAME, classes=CLASSES), predictions)
        return replace(dataset, notes=(*dataset.notes, SORTED, read_from(file)))
    votes, note = read_votes(file)
    near = published[1] if published else beside(file, PREDICTIONS) if predictions is None else None
    source = {"paper": near} if near is not None else predictions
    if source is None:
        rule = f"probabilities ({len(votes)}, 10) of a classifier for the votes of {str(file)!r}"
        fix = (
            f"pass `predictions='probs.npy'` (or .npz, .csv, .parquet), or put the paper's {PREDICTIONS[0]} next to it."
        )
        raise invalid("predictions", None, rule, fix)
    read = read_predictions(source, num_items=len(votes), classes=CLASSES)
    origin = read_from(file) if near is None else read_from(file, near, own=True)
    notes = (note, *read.notes, origin)
    return vote_dataset(votes, read.probs, classes=CLASSES, models=read.models, name=NAME, notes=notes)


def load_imbalanced(path: str | Path | None = None) -> VoteDataset:
    """CIFAR-10H with classifiers trained on uneven class counts, as the paper describes; `path` as for `load`.

    Their probabilities are `probs` (models, 10000, 10) in `cifar10h_imbalanced.npz`, their names `models`.
    """
    file = locate(path, IMBALANCED_FILES, dataset=IMBALANCED)
    dataset = load(path, predictions=file)
    return replace(dataset, name=IMBALANCED, notes=(*dataset.notes, "classifiers trained on uneven class counts"))


def read_votes(file: Path) -> tuple[NDArray[np.int64], str]:
    """Votes (T, N), padded with -1, of a file without predictions, and a note on their origin."""
    if file.suffix in PICKLES:
        votes = read_pickle(file)
    elif file.suffix == ".npy":
        votes = plain_arrays(file)
    else:
        raise unknown_form(file, NAME, FORMS)
    if not isinstance(votes, np.ndarray) or votes.ndim != 2 or votes.dtype.kind not in "iuf" or not votes.size:
        raise unknown_form(file, NAME, FORMS)
    if votes.shape[1] != len(CLASSES):
        return votes, SORTED
    sums = votes.sum(axis=1)
    return expand_counts(votes).astype(np.int64), f"votes from counts: {sums.min():g} to {sums.max():g} per item"

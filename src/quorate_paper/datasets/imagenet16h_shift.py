"""ImageNet-16H with a shift half-way: 1,200 clean images, then the same at the highest noise -> `VoteDataset`.

The paper's distribution-shift set (K=16, 6 votes, 5 classifiers), from the npz or from the authors' pickle.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from quorate.datasets import load_npz, tidied, vote_dataset
from quorate.types import VoteDataset
from quorate_paper.datasets.content import with_predictions
from quorate_paper.datasets.places import PICKLES, locate, papers_own, read_from, unknown_form
from quorate_paper.datasets.plain_pickle import read_pickle
from quorate_paper.datasets.prediction_files import Paths

NAME = "imagenet16h_shift"
FILES = ("imagenet16h_shift.npz", "imagenet16h_dist_shift.pkl")
MODELS = ("alexnet", "densenet", "googlenet", "resnet", "vgg")
CLASSES = (  # in the authors' order, which is not ImageNet-16H's alphabetical one
    "bird", "car", "clock", "bear", "boat", "dog", "cat", "airplane",
    "bottle", "knife", "elephant", "oven", "keyboard", "chair", "truck", "bicycle",
)  # fmt: skip
INFERRED = "the file only numbers classes and classifiers: names are those of ImageNet-16H with equal predictions"
BLOCKS = "block 0 is before the shift, block 1 after; rows are grouped by class: shuffle within each block"
FORMS = "imagenet16h_shift.npz, or imagenet16h_dist_shift.pkl with `model_confs` and `expert_preds_dirty`"


def load(path: str | Path | None = None, *, predictions: Paths | None = None) -> VoteDataset:
    """The shift set from a file or a folder; None: the folder in `QUORATE_DATA`, else the user's cache.

    Both forms give equal data: the pickle's confidences (rows sum to as little as 5e-9) are normalised and rounded to
    the single precision of the npz. If a folder has both, the pickle is read; `notes` say which. `predictions`: other
    classifiers' file(s), (2400, 16) or (models, 2400, 16).

    >>> load("nowhere")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    quorate.errors.InvalidInput: path='nowhere' is neither a file nor a folder with imagenet16h_shift.npz, ...
    """
    published = papers_own(path, FILES[1:], dataset=NAME)
    file = published[0] if published else locate(path, FILES, dataset=NAME)
    if file.suffix == ".npz":
        dataset = load_npz(file, name=NAME, classes=CLASSES)
    elif file.suffix in PICKLES:
        dataset = _from_pickle(file, read_pickle(file))
    else:
        raise unknown_form(file, NAME, FORMS)
    if dataset.models == MODELS:
        dataset = replace(dataset, notes=(*dataset.notes, INFERRED))
    origin = read_from(file, own=file.suffix in PICKLES)
    dataset = replace(dataset, notes=(*dataset.notes, BLOCKS, origin))
    return with_predictions(dataset, predictions)


def _from_pickle(file: Path, content: object) -> VoteDataset:
    """The authors' file. `expert_preds_dirty` are the votes; in `_clean` the votes before the shift also follow it."""
    if not isinstance(content, dict) or not {"model_confs", "expert_preds_dirty"} <= content.keys():
        raise unknown_form(file, NAME, FORMS)
    confs, votes = np.asarray(content["model_confs"]), np.asarray(content["expert_preds_dirty"]).T  # (M, T, K), (T, N)
    if confs.ndim != 3 or votes.ndim != 2 or len(votes) % 2 or confs.shape[1:] != (len(votes), len(CLASSES)):
        raise unknown_form(file, NAME, FORMS)
    _, notes = tidied(confs, where="model_confs")
    single = (confs / confs.sum(axis=-1, keepdims=True)).astype(np.float32)
    return vote_dataset(
        votes,
        tidied(single, where="model_confs")[0],
        classes=CLASSES,
        models=MODELS if len(confs) == len(MODELS) else None,
        blocks=np.arange(len(votes)) >= len(votes) // 2,
        name=NAME,
        notes=notes,
    )

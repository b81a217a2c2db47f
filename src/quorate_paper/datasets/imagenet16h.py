"""ImageNet-16H: 1,200 images at four noise levels, 16 classes, 5 to 7 votes -> `VoteDataset` (Steyvers et al., 2022).

Classifiers do not predict at every level: `covered` returns the items that one or several of them cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from quorate.datasets import load_npz, tidied, vote_dataset
from quorate.packed_files import plain_arrays
from quorate.types import IntArray, VoteDataset
from quorate.validate import invalid
from quorate_paper.datasets.content import chosen_models, missing_predictions, with_predictions
from quorate_paper.datasets.places import PICKLES, locate, papers_own, read_from, unknown_form
from quorate_paper.datasets.plain_pickle import read_pickle
from quorate_paper.datasets.prediction_files import Paths

NAME = "imagenet16h"
FILES = ("imagenet16h.npz", "imagenet_16h.pkl")
FORMS = "imagenet16h.npz, or imagenet_16h.pkl with `model_confs` (models, items, 16) and `expert_preds` (votes, items)"
CLASSES = (
    "airplane", "bear", "bicycle", "bird", "boat", "bottle", "car", "cat",
    "chair", "clock", "dog", "elephant", "keyboard", "knife", "oven", "truck",
)  # fmt: skip
NUMBERED = "classes are numbered as in the authors' file, which does not name them"


def load(
    path: str | Path | None = None, *, predictions: Paths | None = None, model: str | Sequence[str] | None = None
) -> VoteDataset:
    """All items with all classifiers; None: the folder in `QUORATE_DATA`, else the user's cache.

    Where a classifier has no prediction all classes are equally likely; `notes` say which levels each one covers.
    `model`: the same as `covered(load(path), model)`. `predictions`: other classifiers' file(s), rows of NaN (or empty
    cells) where there is no prediction. If a folder has the authors' `imagenet_16h.pkl`, that is read, and its
    classifiers are named paper-0, paper-1, ...; `notes` say which file was read.

    >>> load("nowhere")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    quorate.errors.InvalidInput: path='nowhere' is neither a file nor a folder with imagenet16h.npz, ...
    """
    file = _file(path) if predictions is None else locate(path, FILES, dataset=NAME)
    if file.suffix == ".npz":
        dataset = load_npz(file, name=NAME, classes=CLASSES)
        dataset = with_predictions(replace(dataset, notes=(*dataset.notes, read_from(file))), predictions)
        levels = _levels(file)
        dataset = dataset if levels is None else replace(dataset, notes=(*dataset.notes, *_reach(dataset, levels)))
    elif file.suffix in PICKLES:
        dataset = with_predictions(_from_pickle(file, read_pickle(file)), predictions)
    else:
        raise unknown_form(file, NAME, FORMS)
    return dataset if model is None else covered(dataset, model)


def models(path: str | Path | None = None) -> tuple[str, ...]:
    """Names of the classifiers."""
    return load(path).models


def noise_levels(path: str | Path | None = None) -> IntArray:
    """(T,) the noise of each item of `load(path)`: 80, 95, 110 or 125."""
    file = _file(path)
    levels = _levels(file) if file.suffix == ".npz" else None
    if levels is None:
        raise invalid("path", str(file), "a file with the items' noise levels", "use imagenet16h.npz, which has them.")
    return levels


def covered(source: VoteDataset | str | Path | None = None, model: str | Sequence[str] | None = None) -> VoteDataset:
    """The items that `model` (one name, or several) has predictions for, with these classifiers only.

    None: the items that the most classifiers cover, with those classifiers, as needed to fuse several.

    >>> from quorate.datasets import vote_dataset
    >>> data = vote_dataset([[0], [1]], [[[0.5, 0.5], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]]], classes=["a", "b"])
    >>> covered(data, "model-0").num_items, covered(data, "model-1").num_items, covered(data).models
    (1, 2, ('model-0', 'model-1'))
    """
    dataset = source if isinstance(source, VoteDataset) else load(source)
    present = ~missing_predictions(dataset)  # (M, T)
    if model is None:
        fullest = present[:, present.sum(axis=0).argmax()]
        names = tuple(name for name, has in zip(dataset.models, fullest, strict=True) if has)
    else:
        names = (model,) if isinstance(model, str) else tuple(model)
    models = [dataset.models.index(name) for name in names if name in dataset.models]
    chosen = chosen_models(dataset, names, items=np.asarray(present[models].all(axis=0)))
    note = f"{chosen.num_items} of {dataset.num_items} items: those that {', '.join(names)} cover"
    kept = [text for text in dataset.notes if "missing" not in text and not _is_about_others(text, dataset, names)]
    return replace(chosen, notes=(*kept, note))


def _is_about_others(note: str, dataset: VoteDataset, names: tuple[str, ...]) -> bool:
    return any(note.startswith(f"{name}:") for name in dataset.models if name not in names)


def _file(path: str | Path | None) -> Path:
    """The authors' file if the folder has it, else the npz."""
    published = papers_own(path, FILES[1:], dataset=NAME)
    return published[0] if published else locate(path, FILES, dataset=NAME)


def _levels(file: Path) -> IntArray | None:
    levels = plain_arrays(file).get("noise_level")
    return None if levels is None else np.asarray(levels, dtype=np.int64)


def _reach(dataset: VoteDataset, levels: IntArray) -> list[str]:
    """A note for each classifier on the noise levels it covers."""
    present = ~missing_predictions(dataset)
    reach = [", ".join(str(level) for level in np.unique(levels[row])) for row in present]
    return [f"{name}: predictions at noise {text or 'none'}" for name, text in zip(dataset.models, reach, strict=True)]


def _from_pickle(file: Path, content: object) -> VoteDataset:
    if not isinstance(content, dict) or not {"model_confs", "expert_preds"} <= content.keys():
        raise unknown_form(file, NAME, FORMS)
    confs, votes = np.asarray(content["model_confs"]), np.asarray(content["expert_preds"]).T  # (M, T, K), (T, N)
    if confs.ndim != 3 or votes.ndim != 2 or confs.shape[1:] != (len(votes), len(CLASSES)):
        raise unknown_form(file, NAME, FORMS)
    probs, notes = tidied(confs, where="model_confs")
    numbers = [str(k) for k in range(len(CLASSES))]
    names = [f"paper-{number}" for number in range(len(confs))]
    notes = (*notes, NUMBERED, read_from(file, own=True))
    return vote_dataset(votes, probs, classes=numbers, models=names, name=NAME, notes=notes)

"""Finds files of data sets, and summarises a data set: checksum, origin, accuracies of its classifiers.

Files are in a folder with a known layout, in `QUORATE_DATA` or in the user's cache. Called by the loaders, by `fetch`
and by results that record which data they used.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from quorate.datasets.prediction_files import Paths, read_predictions
from quorate.errors import InvalidInput, MissingExtra
from quorate.posterior.settled import plurality_shares
from quorate.types import FloatArray, IntArray, VoteDataset, frozen_array
from quorate.validate import invalid

# The folder itself; our layout; then the layouts of the authors' and of ChaosNLI's repositories.
AUTHORS = ("cifar-10H", "cifar-10", "imagenet-16H-distshift", "imagenet-16H")
CHAOS = ("chaosNLI_v1.0", "model_predictions")
SUBFOLDERS = ("", "raw", "data", *AUTHORS, *CHAOS, *(f"data/{name}" for name in (*AUTHORS, *CHAOS)))
PICKLES = (".pkl", ".pickle")
PAPERS_OWN = "the paper's own predictions"  # in a note of every data set that holds them


def extra(module: str) -> ModuleType:
    """A package of the extra `data`, imported when first needed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(
            f"this needs {module}, which is not installed: pip install 'quorate[data]'. "
            "Without it, pass your own files: load(path), or set QUORATE_DATA to their folder."
        ) from None


def find(folder: Path, names: Sequence[str], *, dataset: str = "") -> Path | None:
    """The first of `names` in `folder` or one of the known folders in it."""
    for name in names:
        for subfolder in (*SUBFOLDERS, dataset):
            if (folder / subfolder / name).is_file():
                return folder / subfolder / name
    return None


def locate(path: str | Path | None, names: Sequence[str], *, dataset: str) -> Path:
    """The file to load: `path` itself or, if it is a folder, one of `names` in it (best first).

    None means the folder in `QUORATE_DATA`, else the cache.
    """
    where = data_folder(path)
    if where.is_file():
        return where
    file = find(where, names, dataset=dataset)
    if file is None:
        rule = f"a file, or a folder with one of {', '.join(names)}"
        fix = f"run `quorate reproduce fetch {dataset}`, pass a copy as `path`, or set QUORATE_DATA to its folder."
        raise invalid("path", str(where), rule, fix)
    return file


def papers_own(path: str | Path | None, names: Sequence[str], *, dataset: str) -> tuple[Path, ...] | None:
    """The authors' own files `names` in the folder `path` (as for `locate`); None unless it has all of them."""
    where = data_folder(path)
    files = tuple(find(where, [name], dataset=dataset) for name in names) if where.is_dir() else ()
    there = tuple(file for file in files if file is not None)
    return there if there and len(there) == len(names) else None


def data_folder(path: str | Path | None) -> Path:
    """The given path, else the folder in `QUORATE_DATA`, else the user's cache; `reproduce fetch` saves there."""
    chosen = path if path is not None else os.environ.get("QUORATE_DATA")
    return Path(chosen or extra("pooch").os_cache("quorate"))


def beside(file: Path, names: Sequence[str]) -> Path | None:
    """The first of `names` near a file: in its folder, or in the known folders one or two levels up."""
    folders = (file.parent, file.parent.parent, file.parent.parent.parent)
    return next(filter(None, (find(folder, names) for folder in folders)), None)


def unknown_form(file: Path, dataset: str, forms: str) -> InvalidInput:
    """The error for a file that no loader of the data set can read."""
    return invalid("path", str(file), f"a known form of {dataset}: {forms}", "see docs/data.md.")


def read_from(*files: Path, own: bool = False) -> str:
    """The note that says which files a data set was read from; `own`: its predictions are those the paper used.

    >>> read_from(Path("data/imagenet_16h.pkl"), own=True)
    "read from imagenet_16h.pkl: the paper's own predictions"
    """
    return f"read from {' and '.join(file.name for file in files)}{f': {PAPERS_OWN}' if own else ''}"


def has_papers_own(dataset: VoteDataset) -> bool:
    """Whether the classifiers are those of the paper, read from its authors' file."""
    return any(note.endswith(PAPERS_OWN) for note in dataset.notes)


def checksum(dataset: VoteDataset) -> str:
    """sha256 of the content: votes, predictions, blocks, names of classes and models; not the data set's own name.

    >>> from quorate.datasets import vote_dataset
    >>> checksum(vote_dataset([[0, 1]], [[0.5, 0.5]], classes=["a", "b"]))[:12]
    'bcad334e6095'
    """
    names = {"classes": dataset.classes, "models": dataset.models, "votes": dataset.votes.shape}
    digest = hashlib.sha256(json.dumps(names, ensure_ascii=False).encode())
    for array, form in ((dataset.votes, "<i2"), (dataset.predictions, "<f8"), (dataset.blocks, "<i8")):
        digest.update(np.ascontiguousarray(array, dtype=form).tobytes())
    return digest.hexdigest()


def vote_counts(dataset: VoteDataset) -> IntArray:
    """Votes of each class (T, K)."""
    return np.stack([(dataset.votes == k).sum(axis=1) for k in range(dataset.num_classes)], axis=1)


def accuracies(dataset: VoteDataset, *, block: int | None = None) -> FloatArray:
    """(M,) how often each classifier predicts the pool's plurality, over the items it has predictions for.

    A tie of m classes counts 1/m; nan for a classifier without any prediction.

    >>> from quorate.datasets import vote_dataset
    >>> data = vote_dataset([[0, 0], [0, 1]], [[0.9, 0.1], [0.2, 0.8]], classes=["a", "b"])
    >>> accuracies(data)
    array([0.75])
    """
    credit = plurality_shares(vote_counts(dataset))  # (T, K)
    predicted = dataset.predictions.argmax(axis=-1)  # (M, T)
    right = credit[np.arange(len(credit)), predicted]  # (M, T)
    asked = ~missing_predictions(dataset) & (True if block is None else dataset.blocks == block)
    number = asked.sum(axis=1)
    return np.where(number > 0, (right * asked).sum(axis=1) / np.maximum(number, 1), np.nan)


def missing_predictions(dataset: VoteDataset) -> NDArray[np.bool_]:
    """(M, T) items for which a classifier has no prediction: loaders fill such rows with equal shares."""
    return np.asarray((dataset.predictions == dataset.predictions[..., :1]).all(axis=-1))


def chosen_models(dataset: VoteDataset, models: Sequence[str], *, items: NDArray[np.bool_]) -> VoteDataset:
    """The data set with these classifiers and the marked items (T,) only."""
    unknown = [name for name in models if name not in dataset.models]
    if unknown or not models:
        fix = f"choose from {', '.join(dataset.models)}."
        raise invalid("model", unknown, f"classifiers of {dataset.name}", fix)
    if not items.any():
        raise invalid("model", list(models), "classifiers that all predict some item", "choose fewer models.")
    numbers = [dataset.models.index(name) for name in models]
    chosen = replace(dataset, predictions=frozen_array(dataset.predictions[numbers]), models=tuple(models))
    return chosen.rows(items)


def with_predictions(dataset: VoteDataset, predictions: Paths | None) -> VoteDataset:
    """The data set with the predictions of these files instead of its own; None keeps its own."""
    if predictions is None:
        return dataset
    read = read_predictions(predictions, num_items=dataset.num_items, classes=dataset.classes)
    kept = tuple(note for note in dataset.notes if "predictions" not in note)
    return replace(dataset, predictions=frozen_array(read.probs), models=read.models, notes=(*kept, *read.notes))

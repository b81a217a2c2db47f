"""What a data set holds: checksum, counts, accuracies, predictions; and another data set's predictions in its place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quorate.model import plurality_shares
from quorate.types import FloatArray, IntArray, VoteDataset, frozen_array
from quorate.validate import invalid
from quorate_paper.datasets.places import PAPERS_OWN
from quorate_paper.datasets.prediction_files import Paths, read_predictions


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

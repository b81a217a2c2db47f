"""Arrays -> a checked `VoteDataset`: from votes, from counts, or from an `.npz` file with the keys named below.

Called by the generators, by loaders and by anyone who has the arrays in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorate.errors import InvalidPrediction
from quorate.packed_files import plain_arrays
from quorate.types import FloatArray, IntArray, VoteDataset, frozen_array
from quorate.validate import MOST_VOTES, SUM_TOLERANCE, as_floats, class_names, counts, floored, invalid, probabilities

MOST_CLASSES = 2**15 - 1  # votes are kept as int16


def vote_dataset(
    votes: ArrayLike,
    predictions: ArrayLike,
    *,
    classes: Sequence[str],
    models: Sequence[str] | None = None,
    blocks: ArrayLike | None = None,
    name: str = "votes",
    notes: Sequence[str] = (),
    voters: ArrayLike | None = None,
    truth: ArrayLike | None = None,
) -> VoteDataset:
    """A data set from votes (T, N) of class numbers, -1 for none, and predictions (T, K) or (M, T, K).

    `voters` (T, N): number of the person who cast each vote; `truth` (T,): the true class; -1 where unknown.

    >>> data = vote_dataset([[0, 0, 1], [1, 1, -1]], [[0.9, 0.1], [0.3, 0.7]], classes=["cat", "dog"])
    >>> data.num_items, data.num_classes, data.models
    (2, 2, ('model-0',))
    """
    names = class_names(classes)
    if len(names) > MOST_CLASSES:
        raise invalid("classes", len(names), f"at most {MOST_CLASSES} names", "merge the rare ones.")
    table = _vote_table(votes)
    if table.size and (table.min() < -1 or table.max() >= len(names)):
        rule = f"classes 0 to {len(names) - 1}, or -1 for none"
        fix = "pass class numbers, in the order of `classes`."
        raise invalid("votes", f"{table.min()}..{table.max()}", rule, fix)
    if np.any((table >= 0).sum(axis=1) == 0):
        item = int(np.flatnonzero((table >= 0).sum(axis=1) == 0)[0])
        rule = f"at least one vote on every item; item {item} has none"
        raise invalid("votes", item, rule, "drop it from `votes` and `predictions`.")
    stack = probabilities(predictions, where="predictions")
    stack = stack[None] if stack.ndim == 2 else stack
    if stack.shape[1:] != (len(table), len(names)):
        rule = f"the shape (models, {len(table)}, {len(names)}), as votes and classes"
        raise invalid("predictions", stack.shape, rule, "pass one probability for each item and class.")
    labels = _model_names(models, len(stack))
    stretch = _blocks(blocks, len(table))
    return VoteDataset(
        name=name,
        votes=frozen_array(table, np.int16),
        predictions=frozen_array(stack),
        models=labels,
        classes=names,
        blocks=frozen_array(stretch, np.int64),
        notes=tuple(notes),
        voters=None if voters is None else frozen_array(_voter_table(voters, table), np.int64),
        truth=None if truth is None else frozen_array(_true_classes(truth, len(table), len(names)), np.int64),
    )


def _true_classes(truth: ArrayLike, num_items: int, num_classes: int) -> np.ndarray:
    """The true class of each item (T,), -1 where unknown."""
    classes = np.asarray(truth)
    if classes.shape != (num_items,) or not np.issubdtype(classes.dtype, np.integer):
        rule = f"a class number for each of {num_items} items, -1 where unknown"
        raise invalid("truth", f"{classes.dtype}{list(classes.shape)}", rule, "pass one number per item.")
    if classes.min() < -1 or classes.max() >= num_classes:
        rule = f"classes 0 to {num_classes - 1}, or -1 where unknown"
        raise invalid("truth", f"{classes.min()}..{classes.max()}", rule, "number them in the order of `classes`.")
    return classes


def _voter_table(voters: ArrayLike, votes: np.ndarray) -> np.ndarray:
    """Who cast each vote (T, N); -1 where unknown, and where there is no vote."""
    table = np.asarray(voters)
    if table.shape != votes.shape or not np.issubdtype(table.dtype, np.integer):
        rule = f"whole numbers of the shape {votes.shape}, as `votes`"
        raise invalid("voters", f"{table.dtype}{list(table.shape)}", rule, "number the people from 0.")
    if table.min() < -1:
        raise invalid("voters", int(table.min()), "numbers of people from 0, or -1 for unknown", "number them from 0.")
    table = np.where(votes >= 0, table, -1)
    ordered = np.sort(table, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        item = int(np.flatnonzero(twice.any(axis=1))[0])
        rule = f"one vote of a person on an item; item {item} has two of one person"
        raise invalid("voters", int(ordered[item, 1:][twice[item]][0]), rule, "keep one of them.")
    return table


def _vote_table(votes: ArrayLike) -> np.ndarray:
    """Votes (T, N) as whole numbers, at least one item."""
    try:
        table = np.asarray(votes)
    except (TypeError, ValueError) as cause:
        rule = "a row of votes per item, all of one length"
        raise invalid("votes", votes, rule, "pad short rows with -1.") from cause
    if table.size == 0:
        raise invalid("votes", table.shape, "at least one item with a vote", "pass some items.")
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer):
        fix = "pass the class number of each vote, -1 for none."
        raise invalid("votes", f"{table.dtype}{list(table.shape)}", "whole numbers (items, votes per item)", fix)
    if table.shape[1] > MOST_VOTES:
        rule = f"at most {MOST_VOTES} votes per item"
        raise invalid("votes", table.shape, rule, "pass the votes of one pool.")
    return table


def _model_names(models: Sequence[str] | None, num_models: int) -> tuple[str, ...]:
    """A name for each classifier."""
    if models is None:
        return tuple(f"model-{m}" for m in range(num_models))
    if isinstance(models, str) or not isinstance(models, Iterable):
        raise invalid("models", models, "a list of names", "pass e.g. `models=['resnet']`.")
    labels = tuple(models)
    if len(labels) != num_models:
        raise invalid("models", list(labels), f"{num_models} names, one per model of `predictions`", "name each once.")
    return labels


def _blocks(blocks: ArrayLike | None, num_items: int) -> IntArray:
    """The block of the stream that each item belongs to."""
    if blocks is None:
        return np.zeros(num_items, dtype=np.int64)
    stretch = as_floats(blocks, where="blocks")
    fix = "number the blocks 0, 1, ... in the order of the items."
    if stretch.shape != (num_items,):
        raise invalid("blocks", stretch.shape, f"one number per item, ({num_items},)", fix)
    bad = ~(np.abs(stretch) < 2**53) | (stretch != np.floor(stretch))
    if np.any(bad):
        raise invalid("blocks", float(stretch[bad][0]), "whole numbers", fix)
    if np.any(np.diff(stretch) < 0):
        raise invalid("blocks", blocks, "non-decreasing numbers", fix)
    return stretch.astype(np.int64)


def expand_counts(histograms: ArrayLike) -> np.ndarray:
    """Counts (T, K) -> votes (T, N), padded with -1; the order within an item is arbitrary (simulations permute it)."""
    table = counts(histograms, where="counts")
    if table.ndim != 2 or table.size == 0:
        raise invalid("counts", table.shape, "the shape (items, classes)", "pass a row of counts per item.")
    longest = int(table.sum(axis=1).max())
    votes = np.full((len(table), longest), -1, dtype=np.int16)
    for row, histogram in zip(votes, table, strict=True):
        cast = np.repeat(np.arange(len(histogram)), histogram)
        row[: len(cast)] = cast
    return votes


def _read_npz(file: Path) -> dict[str, Any]:
    """The arrays of an `.npz`, read without ever unpickling."""
    wanted = ("votes", "counts", "probs", "models", "classes", "is_post_shift", "annotator_ids", "labels")
    content = plain_arrays(file)
    if not isinstance(content, dict):
        raise invalid("path", str(file), "an .npz, not one array", "save it with np.savez.")
    arrays = {name: content[name] for name in wanted if name in content}
    if "probs" not in arrays or not ("votes" in arrays or "counts" in arrays):
        rule = f"'probs', and 'votes' or 'counts' in it; it holds {sorted(arrays)}"
        raise invalid("path", str(file), rule, "save them under these names with np.savez.")
    return arrays


def tidied(probs: ArrayLike, *, where: str = "probs", source: str = "") -> tuple[FloatArray, tuple[str, ...]]:
    """Published predictions (..., K) as probabilities, and notes on what was changed.

    Rows are renormalised and floored (some published ones sum to 5e-9). A row of NaN is an item without a prediction,
    for which all classes are equally likely, as in a session. The notes say both. `source`: the file, for errors.

    >>> tidied([[2.0, 6.0], [np.nan, np.nan]])[0]
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    array = as_floats(probs, where=where, error=InvalidPrediction)
    missing = np.asarray(np.isnan(array).all(axis=-1))  # (...)
    array = np.where(missing[..., None], 1.0 / array.shape[-1], array)
    sums = array.sum(axis=-1)
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any() or not np.all(sums > 0):
        value = array[bad].flat[0] if bad.any() else 0.0
        rule = "probabilities >= 0 that are not all 0, or NaN for every class of an item without a prediction"
        rule += f", in {source}" if source else ""
        raise invalid(where, float(value), rule, "pass probabilities, not logits.", error=InvalidPrediction)
    notes = []
    if missing.any():
        notes.append(f"{int(missing.sum())} of {missing.size} predictions are missing: all classes equally likely")
    if np.any(np.abs(sums - 1) > SUM_TOLERANCE):
        notes.append(f"predictions renormalised: rows summed to between {sums.min():.2g} and {sums.max():.2g}")
    return floored(array), tuple(notes)


def load_npz(path: str | Path, *, name: str | None = None, classes: Sequence[str] | None = None) -> VoteDataset:
    """A data set from an `.npz` with `votes` (T, N) or `counts` (T, K), and `probs` (M, T, K).

    Optional: `models`, `classes` (else the ones given here, else 0, 1, ...), `is_post_shift` (T,) (then clean items
    come first, and the two parts are shuffled separately), `annotator_ids` (T, N) who cast each vote, `labels` (T,) the
    true classes. Predictions are normalised by `tidied`, which adds `notes`.
    """
    file = Path(path)
    if not file.is_file():
        raise invalid("path", str(path), "a file", "name the .npz that holds the votes and predictions.")
    arrays = _read_npz(file)
    votes = arrays["votes"] if "votes" in arrays else expand_counts(arrays["counts"])
    probs = as_floats(arrays["probs"], where="probs")
    if probs.ndim != 3 or probs.size == 0:
        rule = "the shape (models, items, classes)"
        raise invalid("probs", probs.shape, rule, "for one model write probs[None].")
    models = [str(m) for m in arrays["models"]] if "models" in arrays else None
    names = classes or [str(k) for k in range(probs.shape[-1])]
    predictions, notes = tidied(probs)
    return vote_dataset(
        votes,
        predictions,
        classes=[str(c) for c in arrays["classes"]] if "classes" in arrays else names,
        models=models,
        blocks=arrays.get("is_post_shift"),
        name=name or file.stem,
        notes=notes,
        voters=arrays.get("annotator_ids") if "votes" in arrays else None,
        truth=arrays.get("labels"),
    )

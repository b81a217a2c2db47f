"""Arrays of probabilities, in memory or in .npy and .npz files -> predictions as given; nothing is unpickled.

Called by `predictions`. An array has no names: `classes` and `ids` give them, or else they are "0", "1", ...
Rows without ids are marked as such, and `join` refuses them unless the items of the votes are called the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorate.numpy_files import plain_arrays
from quorate.tables.predictions.checks import Given
from quorate.tables.readers.arrow import TEXT, pa
from quorate.tables.readers.sheets import cell_text
from quorate.tables.votes.codes import encode
from quorate.validate import as_floats, broken, class_names

_PROBS = ("probs", "predictions", "probabilities")
_IDS = ("ids", "items", "item_ids", "tasks")


def from_array(
    array: ArrayLike,
    model: str,
    *,
    classes: Sequence[str] | None,
    ids: Sequence[Any] | None,
    models: Sequence[str] | None = None,
    source: str | None = None,
) -> list[Given]:
    """The classifiers of an array (items, classes) or (models, items, classes)."""
    where = source or model
    stack = as_floats(array, where=where)
    if stack.ndim not in (2, 3) or stack.shape[-1] < 2:
        rule = f"an array (items, classes) or (models, items, classes), not of shape {stack.shape}"
        raise broken("source", where, rule, "for one score or label per item use a table.")
    stack = stack if stack.ndim == 3 else stack[None]
    num_models, num_items, num_classes = stack.shape
    names = tuple(classes) if classes is not None else tuple(str(number) for number in range(num_classes))
    items = list(ids) if ids is not None else list(range(num_items))
    several = [f"{model}-{number}" for number in range(num_models)] if num_models > 1 else [model]
    labels = list(models) if models is not None else several
    for what, found, expected in (
        ("classes", names, num_classes),
        ("ids", items, num_items),
        ("models", labels, num_models),
    ):
        if len(found) != expected:
            rule = f"{expected} names for {where}, which has shape {stack.shape}"
            raise broken(what, list(found), rule, f"name all {expected}; there are {len(found)}.")
    given = [_given(each, label, where, names, items) for each, label in zip(stack, labels, strict=True)]
    return [replace(each, is_unnamed=ids is None) for each in given]


def from_file(file: Path, model: str, *, classes: Sequence[str] | None, ids: Sequence[Any] | None) -> list[Given]:
    """The classifiers of an .npy or .npz file; an .npz may name its own ids, classes and models."""
    arrays = _load(file)
    key = next((name for name in _PROBS if name in arrays), None)
    if key is None:
        raise broken("source", str(file), f"an array called probs, not {sorted(arrays)}", "save it under that name.")
    own_ids = next((arrays[name] for name in _IDS if name in arrays), None)
    own_classes = class_names([str(name) for name in arrays["classes"]]) if "classes" in arrays else None
    models = [str(name) for name in arrays["models"]] if "models" in arrays else None
    return from_array(
        arrays[key],
        model,
        classes=own_classes if own_classes is not None else classes,
        ids=own_ids.tolist() if own_ids is not None else ids,
        models=models,
        source=file.name,
    )


def _given(array: np.ndarray, model: str, source: str, classes: tuple[str, ...], ids: Sequence[Any]) -> Given:
    texts = pa.array([cell_text(each.item() if isinstance(each, np.generic) else each) for each in ids], type=TEXT)
    return Given(
        model=model,
        source=source,
        classes=classes,
        task=encode(texts),
        values=array,
        unsaid=np.zeros(array.shape, dtype=bool),
        is_blank=np.isnan(array).all(axis=1),
        rows=np.arange(len(array), dtype=np.int64) + 1,
        shares_rest=False,
        decisions=(f"{source}: an array of probabilities of {len(classes)} classes, {list(classes[:10])} ...",),
    )


def _load(file: Path) -> dict[str, Any]:
    loaded = plain_arrays(file)
    if not isinstance(loaded, dict):
        return {"probs": loaded}
    found = {name: loaded[name] for name in (*_PROBS, *_IDS, "classes", "models") if name in loaded}
    if found or len(loaded) != 1:
        return found
    (lone,) = loaded.values()
    return {"probs": lone}  # whatever its name

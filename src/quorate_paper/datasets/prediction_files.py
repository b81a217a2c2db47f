"""Files of classifiers' predictions, arrays or tables -> probabilities (M, T, K) with a name for each classifier."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.datasets import tidied
from quorate.errors import InvalidInput, InvalidPrediction, shown
from quorate.packed_files import parquet_batches, plain_arrays
from quorate.types import FloatArray
from quorate.validate import SUM_TOLERANCE, invalid
from quorate_paper.datasets.plain_pickle import read_pickle

CELL_BYTES = 64  # memory of a number in a list and in a row
ITEM_COLUMNS = ("item", "item_id", "index", "id", "", "__index_level_0__")
Paths = str | Path | Iterable[str | Path] | Mapping[str, str | Path]
STACKS = (
    "probs",
    "model_confs",
    "predictions",
)  # keys that hold (T, K) or (M, T, K); the second is the authors' name
SHAPES = "the shape (items, classes), or (models, items, classes)"
AUTHORS_FILES = ("cifar10-fixmatch-rs1-s40.pkl", "imagenet_16h.pkl")  # not normalised; the authors' code does it


def read_csv(file: Path, classes: Sequence[str]) -> dict[str, FloatArray]:
    """Tables (T, K) by classifier; '' where there is no `model` column."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            rows = [row for row in csv.reader(lines) if row]
    except (UnicodeDecodeError, csv.Error) as cause:
        raise invalid("predictions", str(file), f"a CSV in UTF-8 ({cause})", "save it again.") from None
    if not rows or len({len(row) for row in rows}) != 1:
        raise invalid("predictions", str(file), "rows of one length, and at least one", "write one cell per class.")
    if all(_is_number(cell) for cell in rows[0]):
        return {"": _floats(rows, file)}
    columns = {name.strip(): list(cells) for name, cells in zip(rows[0], zip(*rows[1:], strict=True), strict=False)}
    if len(columns) != len(rows[0]):
        raise invalid("predictions", str(file), "rows, and columns of different names", "name each column once.")
    return _tables(columns, classes, file)


def read_parquet(file: Path, classes: Sequence[str]) -> dict[str, FloatArray]:
    """As `read_csv`, from Parquet."""
    columns: dict[str, list[Any]] = {}
    try:
        for batch in parquet_batches(file, cell_bytes=CELL_BYTES):
            for name in batch.schema.names:
                columns.setdefault(name, []).extend(batch.column(name).to_pylist())
    except InvalidInput:
        raise
    except (OSError, ValueError) as cause:
        raise invalid("predictions", str(file), f"a Parquet file ({cause})", "save it again.") from None
    return _tables(columns, classes, file)


def _tables(columns: Mapping[str, list[Any]], classes: Sequence[str], file: Path) -> dict[str, FloatArray]:
    cells = {name: values for name, values in columns.items() if name != "model"}
    item = next((name for name in ITEM_COLUMNS if name in cells and name not in classes), None)
    order = None if item is None else _floats([[cell] for cell in cells.pop(item)], file)[:, 0]
    wanted = _class_columns(list(cells), classes, file)
    table = _floats(list(zip(*(cells[name] for name in wanted), strict=True)), file)  # (rows, K)
    models = np.array([str(name) for name in columns.get("model", [""] * len(table))])
    return {str(name): _in_order(table, order, models == name, file) for name in dict.fromkeys(models)}


def _class_columns(names: list[str], classes: Sequence[str], file: Path) -> list[str]:
    """The columns in the order of the classes."""
    if set(names) == set(classes):
        return list(classes)
    numbers = [re.search(r"(\d+)$", name) for name in names]
    by_number = {int(match.group(1)): name for match, name in zip(numbers, names, strict=True) if match}
    if len(names) == len(classes) == len(by_number) and sorted(by_number) == list(range(len(classes))):
        return [by_number[k] for k in range(len(classes))]
    rule = (
        f"a column per class, {shown(list(classes))} or 0 to {len(classes) - 1} (optionally also model and item); "
        f"it has {shown(names)}"
    )
    raise invalid("predictions", str(file), rule, "rename the columns.")


def _in_order(table: FloatArray, order: FloatArray | None, own: NDArray[np.bool_], file: Path) -> FloatArray:
    """One classifier's rows, sorted by their item numbers if there are any."""
    rows: FloatArray = table[own]
    if order is None:
        return rows
    numbers = order[own]
    if not np.array_equal(np.sort(numbers), np.arange(len(rows))):
        rule = (
            f"item numbers 0 to {len(rows) - 1}, each once, in the order of the votes; "
            f"they go from {numbers.min():g} to {numbers.max():g}"
        )
        raise invalid("predictions", str(file), rule, "drop the column if the rows are already in order.")
    return np.asarray(rows[np.argsort(numbers)])


def _floats(rows: Sequence[Sequence[Any]], file: Path) -> FloatArray:
    try:
        return np.array([[np.nan if cell in ("", None) else float(cell) for cell in row] for row in rows])
    except (TypeError, ValueError) as cause:
        rule = f"probabilities, and item numbers 0, 1, ... if there is an item column ({cause})"
        raise invalid("predictions", str(file), rule, "drop other columns.") from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class PredictionArrays:
    """`probs` (M, T, K), floored; `models` M names; `notes` what was changed."""

    probs: FloatArray
    models: tuple[str, ...]
    notes: tuple[str, ...]


def read_predictions(source: Paths, *, num_items: int, classes: Sequence[str]) -> PredictionArrays:
    """The predictions of one file, of several, or of a mapping name -> file, for items in the data set's order.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "resnet.npy"
    >>> np.save(file, [[0.9, 0.1], [0.2, 0.8]])
    >>> read_predictions(file, num_items=2, classes=["cat", "dog"]).models
    ('resnet',)
    """
    parts: dict[str, FloatArray] = {}
    notes: list[str] = []
    for model, path in _named_paths(source):
        for inner, stack in _stacks(Path(path), classes).items():
            probs, changes = _checked(stack, f"{path}: {inner}" if inner else str(path), num_items, len(classes))
            notes += [f"{Path(path).name}: {note}" for note in changes]
            for number, table in enumerate(probs):
                prefix = model if isinstance(source, Mapping) or not inner else ""
                name = "-".join(part for part in (prefix, inner, str(number) if len(probs) > 1 else "") if part)
                if name in parts:
                    fix = "pass `predictions={name: path, ...}`."
                    raise invalid("predictions", name, "a different name for each classifier", fix)
                parts[name] = table
    if not parts:
        raise invalid("predictions", source, "at least one file", "pass a path, a list of paths or name -> path.")
    return PredictionArrays(np.stack(list(parts.values())), tuple(parts), tuple(notes))


def _named_paths(source: Paths) -> list[tuple[str, str | Path]]:
    """A name for each file: the given one, else the file's own."""
    if isinstance(source, Mapping):
        return [(str(name), path) for name, path in source.items()]
    if isinstance(source, (str, Path)):
        return [(Path(source).stem, source)]
    if not isinstance(source, Iterable):
        raise invalid("predictions", source, "a path, a list of paths or a mapping name -> path", "pass one of these.")
    return [(Path(path).stem, path) for path in source]


def _stacks(file: Path, classes: Sequence[str]) -> dict[str, Any]:
    """The tables of one file by name; '' where the file has no name for them."""
    if not file.is_file():
        raise invalid("predictions", str(file), "a file", "pass an .npy, .npz, .csv or .parquet.")
    match file.suffix.lower():
        case ".npy":
            return {"": plain_arrays(file)}
        case ".npz":
            return _chosen(plain_arrays(file), file)
        case ".csv":
            return read_csv(file, classes)
        case ".parquet":
            return read_parquet(file, classes)
        case ".pkl" | ".pickle":
            content = read_pickle(file)
            return _chosen(content, file) if isinstance(content, dict) else {"": content}
    rule = ".npy, .npz, .csv, .parquet or a pickle of plain arrays"
    raise invalid("predictions", str(file), rule, "save it as one of these.")


def _chosen(arrays: dict[Any, Any], file: Path) -> dict[str, Any]:
    """The arrays of a mapping that are predictions: one of STACKS (named by `models`), else all that have classes."""
    key = next((name for name in STACKS if name in arrays), None)
    if key is not None:
        stack = np.asarray(arrays[key])
        names = [str(name) for name in arrays.get("models", ())]
        if stack.ndim == 3 and len(names) == len(stack):
            return dict(zip(names, stack, strict=True))
        return {"": stack}
    tables = {str(name): array for name, array in arrays.items() if np.ndim(array) in (2, 3)}
    if not tables:
        held = {str(name): np.shape(array) for name, array in arrays.items()}
        rule = f"arrays of {SHAPES}; it holds {shown(held)}"
        raise invalid("predictions", str(file), rule, "save them as probs, or under the classifiers' names.")
    return tables


def _checked(stack: ArrayLike, where: str, num_items: int, num_classes: int) -> tuple[FloatArray, tuple[str, ...]]:
    """Probabilities (M, T, K) that fit the votes."""
    array = np.asarray(stack)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[1:] != (num_items, num_classes) or not len(array):
        rule = f"{SHAPES}: here {num_items} items and {num_classes} classes; {where!r} has shape {np.shape(stack)}"
        raise invalid("predictions", where, rule, "put the items in the order of the votes.")
    probs, notes = tidied(array, where="predictions", source=where)
    sums = array.astype(np.float64).sum(axis=-1)
    off = np.abs(sums - 1) > SUM_TOLERANCE  # False for NaN, a missing prediction
    if off.any() and not where.endswith(AUTHORS_FILES):
        rule = f"rows that sum to 1 (within {SUM_TOLERANCE:g}); one sums to {sums[off].flat[0]:.6g}"
        fix = "pass probabilities, not logits or counts."
        raise invalid("predictions", where, rule, fix, error=InvalidPrediction)
    return probs, notes

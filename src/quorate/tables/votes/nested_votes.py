"""Tables with all votes of an item in one cell -> votes: a list of labels, or a mapping of label to count.

Such cells come from JSONL, from Parquet's lists and structs, from frames, and as JSON in the text of a CSV. Called by
`formats`. The votes are anonymous; those of a mapping have no order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from quorate.tables.own_types import name_text
from quorate.tables.readers.arrow import TEXT, pa
from quorate.tables.readers.sources import Opened, Progress, batches
from quorate.tables.rules import Fired, fired
from quorate.tables.votes.codes import Chunk, Coded, Raw, collect, constant, encode
from quorate.tables.votes.people import sums_up
from quorate.types import IntArray
from quorate.unpacked import check_votes
from quorate.validate import MOST_VOTES

LOOKED_AT = 100  # cells that tell what a column holds
_VOTES = re.compile(r"label|vote|annotat|answer|rating|choice|response|judg|class|count|opinion|tag")


def nested_columns(table: pa.Table, columns: Sequence[str], *, told: bool = False) -> dict[str, str]:
    """Column -> "list" or "counts" of those whose cells hold the votes of an item.

    Unless `told`, lists in columns called after a summary (`old_labels`) are left out, and numbers and counts are taken
    only from columns called after votes or labels: `[640, 480]` may be anything.
    """
    forms = {name: _form(table[name]) for name in columns}
    found = {name: form for name, form in forms.items() if form is not None}
    if not told:
        found = {name: form for name, form in found.items() if form == "counts" or not sums_up(name)}
        found = {name: form for name, form in found.items() if form == "list" or _VOTES.search(name.casefold())}
    return {name: "list" if form == "numbers" else form for name, form in found.items()}


def read_cells(opened: Opened, task: str, column: str, form: str, progress: Progress | None) -> Raw:
    """The votes of the cells of a column."""
    classes: dict[str, None] = {}
    raw = collect(_chunks(opened, task, column, form, classes, progress), opened.name, has_workers=False)
    if form == "list":
        return raw
    return Raw(
        *(raw.source, raw.task, raw.worker, raw.label, None, raw.rows, raw.entries, raw.num_rows),
        has_workers=False,
        classes=tuple(classes),
    )


def _chunks(
    opened: Opened, task: str, column: str, form: str, classes: dict[str, None], progress: Progress | None
) -> Iterator[Chunk]:
    num_votes = 0
    for batch in batches(opened, [task, column], progress):
        items = encode(batch.table[task])
        places: list[int] = []
        labels: list[str | None] = []
        times: list[int] = []  # how many votes each label stands for
        bad: list[int] = []
        for place, cell in enumerate(batch.table[column].to_pylist()):
            votes = _votes(_parsed(cell), form)
            if votes is None:
                bad.append(place)
            elif form == "counts":
                classes |= dict.fromkeys(name for name, _ in votes)
                labels += [name for name, _ in votes]
                times += [count for _, count in votes]
                places += [place] * len(votes)
            else:
                labels += [name for name, _ in votes] or [None]
                times += [1] * max(len(votes), 1)
                places += [place] * max(len(votes), 1)
        num_votes += sum(times)
        if form == "counts":
            check_votes(opened.name, num_votes)
        at = np.repeat(np.asarray(places, dtype=np.int64), times)
        said = encode(pa.array(labels, type=TEXT))
        yield Chunk(
            task=Coded(items.codes[at], items.names),
            worker=constant(None, len(at)),
            label=Coded(np.repeat(said.codes, times), said.names),
            time=None,
            rows=batch.rows[at],
            entries=(*batch.entries, *_unread(opened.name, items, batch.table[column], batch.rows, bad)),
            num_rows=batch.table.num_rows,
        )


def _unread(source: str, items: Coded, cells: pa.ChunkedArray, rows: IntArray, bad: Sequence[int]) -> list[Fired]:
    if not bad:
        return []
    at = np.asarray(bad, dtype=np.int64)
    values = [str(cells[place].as_py())[:200] for place in bad]
    return [fired("bad-cell", source, rows[at], tasks=items.texts(at), values=values)]


def _form(column: pa.ChunkedArray) -> str | None:
    """What the cells hold: a "list" of labels, "numbers" that may be labels, "counts", or None: something else."""
    cells = [cell.as_py() for cell in column.slice(0, LOOKED_AT)]
    if not any(
        isinstance(cell, (list, dict)) or (isinstance(cell, str) and cell.strip()[:1] in "[{") for cell in cells
    ):
        return None
    parsed = [_parsed(cell) for cell in cells if cell is not None and cell != ""]
    filled = [cell for cell in parsed if cell not in ([], {})]
    if not filled:
        return None
    if all(isinstance(cell, dict) and _votes(cell, "counts") for cell in filled):
        return "counts"
    if not all(isinstance(cell, list) and _votes(cell, "list") for cell in filled):
        return None
    labels = [name for cell in filled for name, _ in _votes(cell, "list") or ()]
    if len(labels) == len(filled) or len(set(labels)) > max(10, len(labels) / 2):
        return None  # one a cell, or nearly all different: words, not labels
    numbers = [name for name in labels if re.fullmatch(r"-?\d+(\.\d*)?(e-?\d+)?", name)]
    if len(numbers) < len(labels):
        return "list"
    return None if any(not float(name).is_integer() for name in numbers) else "numbers"


def _parsed(cell: object) -> object:
    """A cell as a list or a mapping; blank: an empty list; None: it is neither."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return []
    if isinstance(cell, str):
        try:
            cell = json.loads(cell) if cell.lstrip()[:1] in ("[", "{") else None
        except (ValueError, RecursionError):  # the latter: brackets nested too deeply
            return None
    if isinstance(cell, dict):  # a struct of Parquet has every key in every row
        return {key: value for key, value in cell.items() if value is not None}
    return cell if isinstance(cell, list) else None


def _votes(cell: object, form: str) -> list[tuple[str, int]] | None:
    """Label and how many votes, for each part of a cell; None: the cell does not hold that."""
    if form == "counts" and isinstance(cell, dict):
        counts = [_whole(value) for value in cell.values()]
        return None if None in counts else list(zip(map(str, cell), counts, strict=True))  # type: ignore[arg-type]
    if form == "counts":
        return [] if cell == [] else None
    if not isinstance(cell, list) or not all(_is_label(each) for each in cell):
        return None
    return [(name_text(each), 1) for each in cell if each is not None]


def _is_label(value: object) -> bool:
    return value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and value.is_integer())


def _whole(value: object) -> int | None:
    """A count, written as a number or as text (numbers of JSONL are kept as they are written)."""
    try:
        number = float(cast(Any, value))
    except (TypeError, ValueError, OverflowError):
        return None
    is_count = not isinstance(value, bool) and number.is_integer() and 0 <= number <= MOST_VOTES
    return int(number) if is_count else None

"""A table that was guessed to have a row per item -> nothing, or an error: is it rather a row per vote, or predictions?

Called by `formats` where the layout was found out, not told; looks at the first batch only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.errors import InvalidInput
from quorate.tables.codes import encode
from quorate.tables.number_cells import as_numbers
from quorate.tables.wide_votes import distinct_values

FEWEST = 10  # rows below which nothing is concluded
MOST_REPEATED = 0.1  # share of rows whose item stood before
MOST_NUMBERS = 20  # different numbers that are not whole: more are no classes
_FORMS = {1.0: "probabilities", 100.0: "percentages"}
GO_ON = "If the data are like that, pass as_read=True (--as-read)."


def refuse_other_tables(table: Any, source: str, item: str, columns: Sequence[str], *, layout: str) -> None:  # noqa: ANN401
    """Refuse predictions taken for votes, rows per vote taken for rows per item, columns that have nothing alike."""
    if table.num_rows < FEWEST or not columns:
        return
    _refuse_probabilities(table, source, columns)
    _refuse_repeated_items(table, source, item, columns, layout)
    if layout == "wide":
        _refuse_unlike_columns(table, source, item, columns)


def _refuse_probabilities(table: Any, source: str, columns: Sequence[str]) -> None:  # noqa: ANN401
    cells = {name: as_numbers(table[name], blank=np.nan).values for name in columns}
    cells = {name: each for name, each in cells.items() if np.isfinite(each).mean() >= 0.9}
    if len(cells) < 2:
        return
    numbers = np.column_stack(list(cells.values()))
    broken = numbers[np.isfinite(numbers) & (numbers % 1 != 0)]
    form = next((what for total, what in _FORMS.items() if _mostly_sum_to(numbers, total)), None)
    if len(broken) and (form or (len(cells) == len(columns) and len(np.unique(broken)) > MOST_NUMBERS)):
        raise InvalidInput(
            f"{source} holds {form or 'numbers'} in the columns {list(cells)[:10]}, no votes; expected labels or "
            "counts; are votes= and predictions= the wrong way round? The table of votes names an item, a label and "
            f"perhaps a worker in each row. {GO_ON}"
        )


def _mostly_sum_to(numbers: np.ndarray, total: float) -> bool:
    return bool(np.mean(np.abs(np.nansum(numbers, axis=1) - total) <= 0.05 * total) > 0.5)


def has_repeated_items(table: Any, item: str) -> bool:  # noqa: ANN401
    """Whether more than a few rows have an item that stood before, as in a table with a row per vote."""
    again, named = _repeated(table, item)
    return again > MOST_REPEATED * named


def _repeated(table: Any, item: str) -> tuple[int, int]:  # noqa: ANN401
    codes = encode(table[item]).codes
    named = codes[codes >= 0]
    return len(named) - len(np.unique(named)), len(named)


def _refuse_repeated_items(table: Any, source: str, item: str, columns: Sequence[str], layout: str) -> None:  # noqa: ANN401
    again, named = _repeated(table, item)
    if again > MOST_REPEATED * named:
        raise InvalidInput(
            f"{source}: no label column was found by its name, so {item!r} was taken for the item of each row and "
            f"{list(columns)[:10]} for {'annotators' if layout == 'wide' else 'classes'}, but {again} of {named} "
            "rows have an item that stood before: it looks like a row per vote. Name the columns: task='...', "
            f"label='...', worker='...'; or say what it is: format={layout!r}. {GO_ON}"
        )


def _refuse_unlike_columns(table: Any, source: str, item: str, columns: Sequence[str]) -> None:  # noqa: ANN401
    values = [distinct_values(table[name]) for name in columns]
    filled = [found for found in values if found]
    if len(filled) >= 2 and len(set().union(*filled)) == sum(len(found) for found in filled):
        raise InvalidInput(
            f"{source}: no label column was found by its name, so {item!r} was taken for the item of each row and "
            f"{list(columns)[:10]} for annotators, but no two of them share a label; expected annotators who use the "
            "same labels. For a row per vote name the columns: task='...', label='...', worker='...'; for a column per "
            f"annotator list them: worker=[...]. {GO_ON}"
        )

"""Votes and one classifier -> nothing, or an error: do its ids and its classes speak of the same things as the votes?

Called by `join`, before rows are looked up by id and columns by class.
"""

from __future__ import annotations

from collections.abc import Sequence

from quorate.errors import InvalidInput
from quorate.tables.align import matched
from quorate.tables.arrow import pc
from quorate.tables.prediction_checks import Checked
from quorate.tables.votes import Votes


def refuse_unnamed_rows(votes: Votes, table: Checked) -> None:
    """Rows of an array without ids are called 0 to T-1: an error unless the items of the votes are exactly these."""
    if not table.is_unnamed:
        return
    items, rows = votes.raw.task.names.drop_null(), table.ids
    if len(items) == len(rows) and pc.all(pc.is_in(items, value_set=rows)).as_py():
        return
    raise InvalidInput(
        f"{table.source} has no ids, so its {len(rows)} rows are called 0 to {len(rows) - 1}, but {votes.raw.source} "
        f"has {len(items)} items, such as {items.slice(0, 3).to_pylist()}; expected the same ids in both; say whose "
        "rows they are, in order: ids=[...] (--ids FILE, one id a line), `ids` in an .npz, or a table with ids."
    )


def refuse_other_classes(votes: Votes, table: Checked, classes: tuple[str, ...], *, given: bool) -> None:
    """An error if no label of the votes, or none of the classes `given`, is a class of the classifier."""
    named = set(matched(table, classes, given=given).values())
    if named.intersection(votes.classes):
        return
    raise InvalidInput(
        f"no label of {votes.raw.source}, {_few(votes.classes)}, is a class of {table.source}, {_few(table.classes)}; "
        "expected the same names in both; rename the columns of a table, or name those of an array in order: "
        "classes=[...] (--classes cat,dog)."
    )


def _few(names: Sequence[str]) -> str:
    return f"{list(names[:10])}" + (f" and {len(names) - 10} more" if len(names) > 10 else "")

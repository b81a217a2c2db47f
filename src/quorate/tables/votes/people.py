"""A long table whose people were not recognised -> the unread column that looks like them: reported, or refused.

Called by `formats` where the caller did not name the worker; looks at the first batch only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from quorate.tables.readers.arrow import pa
from quorate.tables.votes.codes import Coded, encode
from quorate.tables.votes.columns import SYNONYMS, looks_like_worker, squeezed
from quorate.validate import broken

FEWEST = 10  # rows below which nothing is concluded
MOST_AGAIN = 0.1  # share of the rows in which a person votes again on an item
NEARLY_ALL = 0.98
_OF_PEOPLE = re.compile(r"(id|ids|by|name|nr|no|code|initials)$")


def unread_people(table: pa.Table, item: str, unread: Sequence[str]) -> list[str]:
    """The unread columns that look like the people who voted, the likeliest first.

    Within an item no value comes again, yet values come again in other items. Numbers must also be called like ids: a
    duration or the place of a vote has such values too.
    """
    tasks = encode(table[item])
    if table.num_rows < FEWEST or not _repeats(tasks.codes).any():
        return []
    others = {squeezed(name) for role in ("timestamp", "label", "score") for name in SYNONYMS[role]}
    found = [name for name in unread if squeezed(name) not in others and _are_people(table[name], name, tasks)]
    return sorted(found, key=lambda name: (not looks_like_worker(name), _OF_PEOPLE.search(squeezed(name)) is None))


def refuse_wrong_people(table: pa.Table, source: str, item: str, worker: str, unread: Sequence[str]) -> None:
    """Refuse a worker column, found by its name, by which people vote again and again while another column fits."""
    tasks, people = encode(table[item]), encode(table[worker])
    named = (tasks.codes >= 0) & (people.codes >= 0)
    again = int(_repeats(_pairs(tasks, people)[named]).sum())
    if again < FEWEST or again <= MOST_AGAIN * named.sum():
        return
    fitting = unread_people(table, item, unread)
    if fitting:
        rule = (
            f"one vote of each person on an item of {source}, but by this column {again} of {int(named.sum())} votes "
            f"are a person's second or later one, and by {fitting[0]!r} none is"
        )
        fix = f"name the column of the people: `worker={fitting[0]!r}`; if people did vote again, `worker={worker!r}`."
        raise broken("worker", worker, rule, fix)


def _are_people(column: pa.ChunkedArray, name: str, tasks: Coded) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_nested(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return False
    people = encode(column)
    filled = (people.codes >= 0) & (tasks.codes >= 0)
    texts = people.names.to_pylist()
    blank = np.array([not text.strip() for text in texts] + [True])
    filled &= ~blank[people.codes]
    if filled.mean() < 0.9:
        return False
    numbers = all(re.fullmatch(r"[-+]?\d+(\.\d*)?", text.strip()) for text in texts if text.strip())
    if numbers and not (_OF_PEOPLE.search(squeezed(name)) or looks_like_worker(name)):
        return False
    count, different = int(filled.sum()), len(np.unique(people.codes[filled]))
    once = ~_repeats(_pairs(tasks, people)[filled])
    return 2 <= different <= count / 2 and float(once.mean()) >= NEARLY_ALL


def _pairs(tasks: Coded, people: Coded) -> np.ndarray:
    return tasks.codes.astype(np.int64) * (len(people.names) + 1) + people.codes


def _repeats(values: np.ndarray) -> np.ndarray:
    """Which values stood before."""
    again = np.ones(len(values), dtype=bool)
    again[np.unique(values, return_index=True)[1]] = False
    return again

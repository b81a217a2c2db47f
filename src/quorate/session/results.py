"""What a session knows, as Arrow tables: its items, and the history of what it learned.

PyArrow is imported when they are called: a session needs none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from quorate.session.items import ItemState
from quorate.session.state import State
from quorate.types import FloatArray, IntArray

if TYPE_CHECKING:
    from quorate.arrow import pa

Row = tuple[str, int, float, int, str]


def results_table(state: State) -> pa.Table:
    """A row per item: those of which a summary is kept, the recently closed, the open."""
    from quorate.arrow import TEXT, pa  # noqa: PLC0415 - an extra

    rows = list(_rows(state))
    items, labels, confidences, votes, reasons = zip(*rows, strict=True) if rows else ((),) * 5
    classes = pa.array(state.settings.classes, type=TEXT)
    return pa.table(
        {
            "item": pa.array(items, type=TEXT),
            "consensus_label": classes.take(pa.array(labels, type=pa.int64())),
            "confidence": pa.array(confidences, type=pa.float64()),
            "num_votes": pa.array(votes, type=pa.int64()),
            "stop_reason": pa.array(reasons, type=TEXT),
        }
    )


def _rows(state: State) -> Iterator[Row]:
    for name, old in state.old.items():
        yield name, old.label, old.confidence, old.num_votes, old.reason
    for items in (state.recent, state.open):
        yield from (_row(name, item) for name, item in items.items())


def _row(name: str, item: ItemState) -> Row:
    standing = item.standing
    assert standing is not None  # every event of an item in a session has its decision
    return name, standing.label, standing.confidence, standing.num_votes, standing.reason


def history_table(
    closed: Sequence[int] | IntArray,
    fits: Sequence[FloatArray] | FloatArray,
    *,
    models: Sequence[str],
    classes: Sequence[str],
) -> pa.Table:
    """A row per fit: the items closed before it, then the learned parameters, which are packed, without the bias."""
    from quorate.arrow import pa  # noqa: PLC0415 - an extra

    several = len(models) > 1
    names = [f"tau_{model}_{name}" if several else f"tau_{name}" for model in models for name in classes]
    packed = np.array(fits) if len(closed) else np.zeros((0, 2 + len(names)))
    values = dict(zip(["theta", "phi", *names], packed.T, strict=False))
    return pa.table(
        {"items": pa.array(closed, type=pa.int64())} | {name: pa.array(column) for name, column in values.items()}
    )

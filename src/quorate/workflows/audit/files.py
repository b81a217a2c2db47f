"""The files of an audit: decisions in; the draw, with its seed, in and out. Panel votes: `audit_panels`.

Tables are CSV, or JSONL or Parquet if the ending says so. Called by `workflows.audit`.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from quorate.errors import InvalidInput
from quorate.files import atomic_file
from quorate.parquet import parquet_batches
from quorate.reasons import CERTAIN
from quorate.types import Reason
from quorate.validate import fraction, shown, whole
from quorate.version import __version__

Row = dict[str, str]

CELL_BYTES = 200  # of a cell of Parquet as text, in a row that is a dict
ITEM = ("item", "task", "id", "item_id", "task_id")
MARK = "# quorate audit draw "
COLUMNS = ("item", "rate", "audited", "expected_loss", "label", "pool_size")


@dataclass(frozen=True, slots=True)
class ClosedItem:
    """One row of the decisions: what was answered, how surely, and why the asking stopped."""

    item: str
    label: str
    confidence: float
    reason: str
    num_votes: int | None = None
    pool_size: int | None = None

    @property
    def is_settled(self) -> bool:
        """Can no further vote change it?"""
        return self.reason in CERTAIN

    @property
    def expected_loss(self) -> float:
        """u = 1 - confidence."""
        return 1.0 - self.confidence

    @property
    def settled_loss(self) -> float:
        """Of a settled item: 0, or 1 - 1/t in a tie of t; 1 if the answer is not the winner, or nobody voted.

        A settled confidence is 1 for the winner, 1/t in a tie, at most a half, and 0 for an answer that was chosen by
        the costs of errors against the votes.
        """
        if self.num_votes == 0:
            return 1.0
        return self.expected_loss if self.confidence < 0.501 else 0.0


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """One row of the draw: the coin, and the answer, doubt and size of the pool it was tossed for."""

    item: str
    rate: float
    audited: bool
    expected_loss: float
    label: str
    pool_size: int | None = None


@dataclass(frozen=True, slots=True)
class DrawFile:
    """A draw as it lies on disk: its seed, the lowest rate declared, and a coin per unsettled closed item.

    `decisions`: the file it was last drawn from, as it was named then; "" if unknown.
    """

    seed: int
    min_rate: float
    rows: tuple[DrawnItem, ...]
    decisions: str = ""


def read_decisions(path: str | Path) -> tuple[list[ClosedItem], int]:
    """The closed items in the order of the file, and how many rows are still open (stop_reason "ask")."""
    rows = _read(path)
    item = _column(rows, ITEM, path)
    label, confidence = (_column(rows, (name,), path) for name in ("consensus_label", "confidence"))
    reason = _column(rows, ("stop_reason",), path)
    closed = []
    for number, row in enumerate(rows, start=1):
        where = f"row {number} of {path}"
        if row[reason] not in get_args(Reason):
            raise InvalidInput(
                f"{where}: stop_reason={shown(row[reason])}; expected one of {', '.join(get_args(Reason))}; "
                "write the decisions with `quorate run`, or use these words."
            )
        if row[reason] != "ask":
            surely = _confidence(row[confidence], f"{where}: confidence")
            votes, pool = (_count(row.get(name), f"{where}: {name}") for name in ("num_votes", "pool_size"))
            closed.append(ClosedItem(row[item], row[label], surely, row[reason], votes, pool))
    _refuse_repeats([each.item for each in closed], path)
    return closed, len(rows) - len(closed)


def read_draw(path: str | Path) -> DrawFile:
    """A draw that `write_draw` wrote."""
    file = _existing(path)
    try:
        with file.open(encoding="utf-8", newline="") as text:
            head = text.readline()
            rows = list(csv.DictReader(text))
        if not head.startswith(MARK):
            raise ValueError("its first line does not say so")
        meta = json.loads(head.removeprefix(MARK))
        drawn = tuple(
            DrawnItem(
                row["item"],
                float(row["rate"]),
                row["audited"] == "1",
                float(row["expected_loss"]),
                row["label"],
                int(row["pool_size"]) if row.get("pool_size") else None,
            )
            for row in rows
        )
        draw = DrawFile(int(meta["seed"]), float(meta["min_rate"]), drawn, str(meta.get("decisions", "")))
    except (ValueError, KeyError, TypeError, csv.Error) as cause:
        raise InvalidInput(
            f"{path} is not a draw of `quorate audit draw`: {cause}; name the file it wrote, unchanged."
        ) from cause
    _refuse_repeats([row.item for row in draw.rows], path)
    return draw


def write_draw(draw: DrawFile, path: str | Path) -> None:
    """Write the draw, whole or not at all; numbers are written so that they are read back exactly."""
    meta = {"seed": draw.seed, "min_rate": draw.min_rate, "decisions": draw.decisions, "version": __version__}
    with atomic_file(Path(path)) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as text:
        text.write(f"{MARK}{json.dumps(meta)}\n")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in draw.rows:
            cells = (row.item, repr(row.rate), int(row.audited), repr(row.expected_loss), row.label)
            writer.writerow((*cells, "" if row.pool_size is None else row.pool_size))


def _existing(path: str | Path) -> Path:
    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"path={str(path)!r} is not a file; name one that exists.")
    return file


def _read(path: str | Path) -> list[Row]:
    """The rows of a table, every cell as text, stripped; "" for none."""
    file = _existing(path)
    readers = {".parquet": _parquet, ".pq": _parquet, ".jsonl": _jsonl, ".ndjson": _jsonl}
    try:
        rows = readers.get(file.suffix.lower(), _csv)(file)
    except InvalidInput:
        raise
    except (ValueError, csv.Error) as cause:
        raise InvalidInput(f"{path} cannot be read as a table: {cause}; save it again as CSV in UTF-8.") from cause
    return [{str(name).strip(): _text(value) for name, value in row.items()} for row in rows]


def _csv(file: Path) -> list[dict[str, Any]]:
    with file.open(encoding="utf-8-sig", newline="") as text:
        reader = csv.DictReader(text)
        rows = list(reader)
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise ValueError(f"row {number} has another number of cells than the header")
    return rows


def _jsonl(file: Path) -> list[dict[str, Any]]:
    with file.open(encoding="utf-8-sig") as text:
        rows = [json.loads(line) for line in text if line.strip()]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("a line is not a JSON object")
    return rows


def _parquet(file: Path) -> list[dict[str, Any]]:
    return [row for batch in parquet_batches(file, cell_bytes=CELL_BYTES) for row in batch.to_pylist()]


def _text(value: Any) -> str:  # noqa: ANN401
    return "" if value is None else str(value).strip()


def _column(rows: Sequence[Row], names: Sequence[str], path: str | Path) -> str:
    """The first of the names that is a column."""
    if not rows:
        raise InvalidInput(f"{path} has no rows; expected a header and at least one row; name the file with the data.")
    for name in names:
        if all(name in row for row in rows):
            return name
    raise InvalidInput(
        f"{path} has the columns {', '.join(rows[0])}; expected {' or '.join(names)} among them; rename the column."
    )


def _confidence(text: str, where: str) -> float:
    """A probability; a last digit above 1 is rounding."""
    number = _number(text, where)
    return fraction(1.0 if 1 < number <= 1 + 1e-9 else number, where=where)


def _count(text: str | None, where: str) -> int | None:
    """A whole number, or None for a blank cell."""
    return whole(_number(text, where), where=where, least=0) if text else None


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{where}={shown(text)} is not a number; correct the row.") from None


def _refuse_repeats(items: Sequence[str], path: str | Path) -> None:
    item, times = Counter(items).most_common(1)[0] if items else ("", 0)
    if times > 1 or "" in items:
        which = f"item {shown(item)} stands {times} times" if times > 1 else "an item has no id"
        raise InvalidInput(f"{path}: {which}; expected each item once, with its id; correct the file.")

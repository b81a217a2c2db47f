"""The points of a sweep or a demo as records, and their files: results.csv and summary.json.

Called by `demo`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from quorate.streams.curves import Comparison
from quorate.streams.sweep import Curve, CurveReading, Point
from quorate.version import __version__

COLUMNS = (
    "setting", "method", "parameters", "votes_per_item", "error_rate", "num_items", "seeds", "version", "cost_per_item",
)  # fmt: skip


def point_record(setting: str, point: Point, seeds: Sequence[int]) -> dict[str, Any]:
    """One point as a flat record; parameters as JSON."""
    return {
        "setting": setting,
        "method": point.method.name,
        "parameters": json.dumps(point.method.describe()["parameters"]),
        "votes_per_item": round(point.votes_per_item, 6),
        "error_rate": round(point.error_rate, 6),
        "num_items": len(point.errors),
        "seeds": " ".join(str(seed) for seed in seeds),
        "version": __version__,
        "cost_per_item": round(point.cost_per_item, 6),
    }


def write_csv(records: Iterable[dict[str, Any]], path: Path) -> Path:
    """The records as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(records)
    return path


def curve_records(setting: str, curves: Sequence[Curve], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Every point of every curve."""
    return [point_record(setting, point, seeds) for curve in curves for point in curve.runs]


def write_json(content: dict[str, Any], path: Path) -> Path:
    """Write indented JSON."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def reading_record(reading: CurveReading, comparison: Comparison) -> dict[str, Any]:
    """A row of the comparison as plain values."""
    from_all, from_settled = comparison.saved(reading.votes_per_item)
    return {
        "method": reading.name,
        "parameter": reading.parameter,
        "votes_per_item": reading.votes_per_item,
        "error_rate": reading.error_rate,
        "saved_against_ask_all": from_all,
        "saved_against_until_settled": from_settled,
    }

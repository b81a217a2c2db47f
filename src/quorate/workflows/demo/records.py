"""The results of a sweep or a demo -> results.csv (every point) and summary.json (the comparison), with the version.

Called by `demo` and by `quorate simulate`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from quorate.streams.curves import Comparison, Matched, equal_error
from quorate.streams.sweep import Curve, CurveReading, Point, paired
from quorate.version import __version__
from quorate.workflows.demo.report import COUPLED, equal_error_sentence, verdict

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


def write_results(comparisons: Sequence[Comparison], path: Path) -> Path:
    """Every point of the demo."""
    records = (record for c in comparisons for record in curve_records(c.setting.key, c.curves, c.seeds))
    return write_csv(records, path)


def write_json(content: dict[str, Any], path: Path) -> Path:
    """Write indented JSON."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def write_summary(comparisons: Sequence[Comparison], path: Path, *, headline: str, seconds: float) -> Path:
    """The demo's comparison as JSON."""
    return write_json(summary_of(comparisons, headline=headline, seconds=seconds), path)


def summary_of(comparisons: Sequence[Comparison], *, headline: str, seconds: float) -> dict[str, Any]:
    """The demo's comparison as plain values."""
    return {
        "version": __version__,
        "headline": headline,
        "seconds": round(seconds, 1),
        "standard_errors": COUPLED,
        "settings": [_setting_summary(comparison) for comparison in comparisons],
    }


def _setting_summary(comparison: Comparison) -> dict[str, Any]:
    setting = comparison.setting
    return {
        "key": setting.key,
        "title": setting.title,
        "pool_size": setting.pool_size,
        "num_items": comparison.num_items,
        "dials": dict(setting.dials),
        "seeds": list(comparison.seeds),
        "ask_all_votes": comparison.ask_all,
        "until_settled_votes": comparison.until_settled,
        "tie_floor": comparison.tie_floor,
        "references": [reading_record(reading, comparison) for reading in comparison.references],
        "equal_error": _equal_error_summary(comparison),
        "budgets": [_budget_summary(matched, comparison) for matched in comparison.matched],
    }


def _equal_error_summary(comparison: Comparison) -> dict[str, Any]:
    found = equal_error(comparison)
    return {
        "sentence": equal_error_sentence(comparison),
        "error_rate": found.error_rate,
        "quorate_votes": found.ours,
        "best_simple_rule": found.simple,
        "best_simple_rule_votes": found.votes,
        "best_simple_rule_votes_low": found.low,
        "best_simple_rule_votes_high": found.high,
        "saved_against_best_simple_rule": found.fewer,
        "is_clear": found.is_clear,
        "until_settled_votes": found.until_settled,
        "until_settled_error_rate": found.settled_error_rate,
    }


def _budget_summary(matched: Matched, comparison: Comparison) -> dict[str, Any]:
    difference, error = paired(matched.ours, matched.best_simple)
    return {
        "budget": matched.budget,
        "verdict": verdict(matched),
        "best_simple_rule": matched.best_simple.name,
        "more_errors_of_best_simple_rule": difference,
        "standard_error": error,
        "methods": [reading_record(reading, comparison) for reading in matched.readings],
    }


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

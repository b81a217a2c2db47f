"""Label Studio exports -> predictions: a mapping of class to probability in `data`, or each task's `predictions`.

A prediction there has one `score`, that of its choice; the rest is shared by the other classes. Called by
`predictions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import InvalidInput
from quorate.tables import json_records
from quorate.tables.arrow import TEXT, pa
from quorate.tables.codes import encode
from quorate.tables.label_studio import check_field, choices, item_id
from quorate.tables.number_cells import as_numbers
from quorate.tables.prediction_checks import Given
from quorate.tables.prediction_forms import from_labels


@dataclass(frozen=True, slots=True)
class _Said:
    row: int
    task: str | None
    label: str | None
    score: str | None


def from_studio(file: Path, model: str, *, task: str | None, field: str | None, accuracy: float) -> list[Given]:
    """One classifier from `data[field]`, or one for each `model_version` of the tasks' predictions."""
    check_field(file, task, argument="id_column")
    if field is not None:
        check_field(file, field, argument="field")
        return [_from_field(file, model, task, field)]
    by_version: dict[str, list[_Said]] = {}
    for number, record, _ in json_records.records(file):
        given = (record or {}).get("predictions")
        for prediction in given if isinstance(given, list) else []:
            if isinstance(prediction, dict):
                version = str(prediction.get("model_version") or model)
                by_version.setdefault(version, []).append(_said(number, item_id(record, task), prediction))
    if not by_version:
        raise InvalidInput(f"{file.name} has no predictions; name the field of `data` with probabilities: field='...'.")
    return [_from_choices(file.name, version, said, accuracy) for version, said in by_version.items()]


def _said(number: int, item: str | None, prediction: Mapping[str, Any]) -> _Said:
    result = prediction.get("result") or []
    picked = choices(result, None)
    score = prediction.get("score")
    if score is None and isinstance(result, list) and result and isinstance(result[0], dict):
        score = result[0].get("score")
    return _Said(number, item, picked[0] if len(picked) == 1 else None, json_records.plain(score))


def _from_choices(source: str, version: str, said: list[_Said], accuracy: float) -> Given:
    scores = as_numbers(pa.array([each.score for each in said], type=TEXT), blank=accuracy).values
    told = (f"{source}: the choice and score of {version!r}'s predictions; the rest shared by the other classes",)
    return from_labels(
        version,
        source,
        encode(pa.array([each.task for each in said], type=TEXT)),
        encode(pa.array([each.label for each in said], type=TEXT)),
        scores,
        np.array([each.row for each in said], dtype=np.int64),
        classes=None,
        told=told,
    )


def _from_field(file: Path, model: str, task: str | None, field: str) -> Given:
    found: list[tuple[int, str | None, Mapping[str, Any]]] = []
    for number, record, _ in json_records.records(file):
        if record is not None:
            data = record.get("data")
            said = data.get(field) if isinstance(data, dict) else None
            found.append((number, item_id(record, task), said if isinstance(said, dict) else {}))
    classes = tuple(dict.fromkeys(name for _, _, said in found for name in said))
    if not classes:
        raise InvalidInput(f"field={field!r} of {file.name} holds no mapping of class to probability; name another.")
    columns = [pa.array([json_records.plain(said.get(name)) for _, _, said in found], type=TEXT) for name in classes]
    values = np.column_stack([as_numbers(column, blank=0.0).values for column in columns])
    return Given(
        model=model,
        source=file.name,
        classes=classes,
        task=encode(pa.array([item for _, item, _ in found], type=TEXT)),
        values=values,
        unsaid=np.zeros(values.shape, dtype=bool),
        is_blank=np.array([not said for _, _, said in found], dtype=bool),
        rows=np.array([number for number, _, _ in found], dtype=np.int64),
        shares_rest=False,
        decisions=(f"{file.name}: probabilities by class from data.{field}",),
    )

"""Label Studio exports -> votes and predictions. An annotation with exactly one choice is a vote.

Called by the readers of votes and predictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quorate.arrow import TEXT, pa
from quorate.tables.options import HARD_LABEL_ACCURACY
from quorate.tables.predictions.checks import Given
from quorate.tables.predictions.forms import from_labels
from quorate.tables.readers.json_files import first_records, json_text, records
from quorate.tables.readers.sources import as_numbers, seconds
from quorate.tables.rules import fired
from quorate.tables.votes.codes import Chunk, Coded, encode
from quorate.types import Progress
from quorate.validate import invalid

BLOCK = 50_000  # votes per chunk


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation: a vote, or the `rule` that sets it aside."""

    row: int
    task: str | None
    worker: str | None
    label: str | None
    time: str | None
    rule: str | None = None


def is_label_studio(path: Path) -> bool:
    """Whether the first record has the fields of a Label Studio task."""
    first = first_records(path, most=1)
    return bool(first) and ("annotations" in first[0] or "completions" in first[0]) and "data" in first[0]


def studio_chunks(path: Path, *, task: str | None, control: str | None, progress: Progress | None) -> Iterator[Chunk]:
    """The votes of an export. `task`: a field of `data` to use as item id; `control`: the `from_name` to read."""
    annotations: list[Annotation] = []
    total, what = path.stat().st_size, f"reading {path.name}"
    bad: list[int] = []
    tasks: list[str | None] = []
    num_rows = 0
    for number, record, done in records(path):
        num_rows += 1
        if record is None:
            bad.append(number)
            continue
        annotations.extend(_annotations(number, record, task, control))
        tasks.append(item_id(record, task))
        if len(annotations) >= BLOCK or len(tasks) >= BLOCK:
            yield _chunk(path.name, annotations, bad, tasks, num_rows)
            annotations, bad, tasks, num_rows = [], [], [], 0
            if progress is not None:
                progress(min(done, total), total, what)
    yield _chunk(path.name, annotations, bad, tasks, num_rows)
    if progress is not None:
        progress(total, total, what)


def item_id(record: Mapping[str, object], task: str | None) -> str | None:
    """The id of a task: its `id`, or the field `task` of its `data`."""
    data = record.get("data")
    value = record.get("id") if task in (None, "id") else data.get(task) if isinstance(data, dict) else None
    return json_text(value)


def choices(result: object, control: str | None) -> list[str]:
    """All choices of a result, or only those of one control."""
    regions = [region for region in (result if isinstance(result, list) else []) if isinstance(region, dict)]
    if control is not None:
        regions = [region for region in regions if region.get("from_name") == control]
    answers = [region["value"] for region in regions if isinstance(region.get("value"), dict)]
    values = [answer.get("choices") or [] for answer in answers]
    return [str(choice) for value in values for choice in (value if isinstance(value, list) else [value])]


def field_names(path: Path) -> list[str]:
    """The fields of `data` in the first task."""
    first = first_records(path, most=1)
    data = first[0].get("data") if first else None
    return sorted(data) if isinstance(data, dict) else []


def check_field(path: Path, name: str | None, *, argument: str) -> None:
    """Refuse the name of a field that the first task does not have."""
    if name is not None and name != "id" and name not in field_names(path):
        raise invalid(argument, name, f"a field of the data in {path.name}: {field_names(path)}", "name one of them.")


def _annotations(number: int, record: Mapping[str, object], task: str | None, control: str | None) -> list[Annotation]:
    item = item_id(record, task)
    listed = record.get("annotations") or record.get("completions")
    every = listed if isinstance(listed, list) else []
    return [_annotation(number, item, annotation, control) for annotation in every if isinstance(annotation, dict)]


def _annotation(number: int, item: str | None, given: Mapping[str, object], control: str | None) -> Annotation:
    picked = choices(given.get("result"), control)
    cancelled = given.get("was_cancelled") is True
    rule = "no-answer" if cancelled else "unreadable" if len(picked) > 1 else None
    label = " | ".join(picked) if picked else None
    time = json_text(given.get("created_at"))
    return Annotation(number, item, _worker(given.get("completed_by")), label, time, rule)


def _worker(given: object) -> str | None:
    if isinstance(given, dict):
        return json_text(given.get("email") or given.get("id"))
    return json_text(given)


def _chunk(name: str, found: list[Annotation], bad: list[int], tasks: list[str | None], num_rows: int) -> Chunk:
    entries = [fired("unreadable", name, bad)] if bad else []
    for rule in ("no-answer", "unreadable"):
        aside = [annotation for annotation in found if annotation.rule == rule]
        if aside:
            items, workers, labels = ([getattr(a, field) for a in aside] for field in ("task", "worker", "label"))
            entries.append(fired(rule, name, [a.row for a in aside], tasks=items, workers=workers, values=labels))
    votes = [annotation for annotation in found if annotation.rule is None]
    every = encode(pa.array([*(vote.task for vote in votes), *tasks], type=TEXT))  # includes tasks without votes
    times = pa.array([vote.time for vote in votes], type=TEXT)
    return Chunk(
        task=Coded(every.codes[: len(votes)], every.names),
        worker=encode(pa.array([vote.worker for vote in votes], type=TEXT)),
        label=encode(pa.array([vote.label for vote in votes], type=TEXT)),
        time=seconds(times),
        rows=np.array([vote.row for vote in votes], dtype=np.int64),
        entries=tuple(entries),
        num_rows=num_rows,
    )


@dataclass(frozen=True, slots=True)
class _StudioPrediction:
    row: int
    task: str | None
    label: str | None
    score: str | None


def from_studio(file: Path, model: str, *, task: str | None, field: str | None) -> list[Given]:
    """One classifier from `data[field]`, or one for each `model_version` of the tasks' predictions."""
    check_field(file, task, argument="id_column")
    if field is not None:
        check_field(file, field, argument="field")
        return [_from_field(file, model, task, field)]
    by_version: dict[str, list[_StudioPrediction]] = {}
    for number, record, _ in records(file):
        listed = (record or {}).get("predictions")
        for prediction in listed if isinstance(listed, list) else []:
            if isinstance(prediction, dict):
                version = str(prediction.get("model_version") or model)
                read = _studio_prediction(number, item_id(record, task), prediction)
                by_version.setdefault(version, []).append(read)
    if not by_version:
        rule = "an export with predictions; this one has none"
        raise invalid("source", file.name, rule, "name the field of the data with probabilities: `field=...`.")
    return [_from_choices(file.name, version, rows) for version, rows in by_version.items()]


def _studio_prediction(number: int, item: str | None, prediction: Mapping[str, object]) -> _StudioPrediction:
    result = prediction.get("result") or []
    picked = choices(result, None)
    score = prediction.get("score")
    if score is None and isinstance(result, list) and result and isinstance(result[0], dict):
        score = result[0].get("score")
    return _StudioPrediction(number, item, picked[0] if len(picked) == 1 else None, json_text(score))


def _from_choices(source: str, version: str, rows: list[_StudioPrediction]) -> Given:
    scores = as_numbers(
        pa.array([prediction.score for prediction in rows], type=TEXT), blank=HARD_LABEL_ACCURACY
    ).values
    decision = f"{source}: the choice and score of {version!r}'s predictions; the rest shared by the other classes"
    return from_labels(
        version,
        source,
        encode(pa.array([prediction.task for prediction in rows], type=TEXT)),
        encode(pa.array([prediction.label for prediction in rows], type=TEXT)),
        scores,
        np.array([prediction.row for prediction in rows], dtype=np.int64),
        classes=None,
        decisions=(decision,),
    )


def _from_field(file: Path, model: str, task: str | None, field: str) -> Given:
    rows: list[tuple[int, str | None, Mapping[str, object]]] = []
    for number, record, _ in records(file):
        if record is not None:
            data = record.get("data")
            probs = data.get(field) if isinstance(data, dict) else None
            rows.append((number, item_id(record, task), probs if isinstance(probs, dict) else {}))
    classes = tuple(dict.fromkeys(name for _, _, probs in rows for name in probs))
    if not classes:
        rule = f"a field of the data in {file.name} that maps classes to probabilities"
        raise invalid("field", field, rule, "name another.")
    columns = [pa.array([json_text(probs.get(name)) for _, _, probs in rows], type=TEXT) for name in classes]
    values = np.column_stack([as_numbers(column, blank=0.0).values for column in columns])
    return Given(
        model=model,
        source=file.name,
        classes=classes,
        task=encode(pa.array([item for _, item, _ in rows], type=TEXT)),
        values=values,
        unsaid=np.zeros(values.shape, dtype=bool),
        is_blank=np.array([not probs for _, _, probs in rows], dtype=bool),
        rows=np.array([number for number, _, _ in rows], dtype=np.int64),
        shares_rest=False,
        decisions=(f"{file.name}: probabilities by class from data.{field}",),
    )

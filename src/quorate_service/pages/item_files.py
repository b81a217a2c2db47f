"""Reads items from a file (CSV, TSV, JSON, JSON lines), and says what is wrong with each row that cannot be added."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pydantic import JsonValue, ValidationError

from quorate.errors import InvalidInput, QuorateError, shown
from quorate.session import parse_prediction
from quorate.validate import invalid
from quorate_service.api.items import ItemIn, model_names, new_item
from quorate_service.domain.items import ONE_MODEL, ItemContent, NewItem
from quorate_service.domain.projects import Project
from quorate_service.pydantic_errors import complaints

SAVE_AS_CSV = "In a spreadsheet, save it as CSV UTF-8."
MARKS = (b"\xff\xfe", b"\xfe\xff")  # byte order marks of UTF-16
IDS = ("id", "item", "item_id", "name")
FIELDS = ("text", "image", "link", "pool_size", "priority", "prediction", "gold")
OTHER_NAMES = {"url": "link", "image_url": "image", "pool": "pool_size", "known_answer": "gold"}
PREFIXES = ("", "p_", "prob_", "p.", "prediction.", "prediction_", "probs_")
MARKS_OF_MODELS = (":", ".", "/")  # between a classifier and a class
NOT_MODELS = {prefix.rstrip("._") for prefix in PREFIXES}
END = "the-end-of-the-table"
IMAGE_FILE = re.compile(r"[^:]+\.(png|jpe?g|webp|gif)", re.IGNORECASE)  # the name of a file, not an address
MOST_NAMES, LONGEST_NAME = 12, 40  # of columns in a message


def text_of(content: bytes) -> str:
    """The file's text; an error if it is not text.

    >>> text_of(b"id,text"), text_of(b"\\xef\\xbb\\xbfid")
    ('id,text', 'id')
    """
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        raise _unreadable("The file is empty", "Choose a file with a row for each item.")
    is_wide = content[:2] in MARKS
    if not is_wide and b"\0" in content:
        raise _unreadable("This is a binary file, not a table", SAVE_AS_CSV)
    try:
        return content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable("The file is not UTF-8 text", SAVE_AS_CSV) from None


def _unreadable(wrong: str, fix: str, rule: str = "a table: CSV, TSV, JSON or JSON lines") -> InvalidInput:
    """The error for a whole file."""
    return InvalidInput(f"{wrong}. {fix}", field="file", value=wrong, rule=rule, fix=fix)


Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row: a record to check, or its problem, with the item's id if it is known."""

    record: object = None
    problem: InvalidInput | None = None
    item: str = ""


@dataclass(frozen=True, slots=True)
class RowProblem:
    """The problem of one row, with its number in the file (the first item is 1) and the item's id, if any."""

    row: int
    item: str
    words: str


@dataclass(frozen=True, slots=True)
class ItemsFile:
    """The contents of a file: items that can be added, rows that cannot, columns that are not used.

    `models`: the project's classifiers, or those that the first file names   `predictions`: for each item the
    probability of every class by each classifier, empty without one   `meant`: columns not used whose name is
    similar to a class, with that class.
    """

    models: tuple[str, ...]
    items: list[NewItem]
    predictions: list[list[dict[str, float]]]
    problems: list[RowProblem]
    ignored: list[str]
    meant: dict[str, str] = field(default_factory=dict)

    @property
    def num_rows(self) -> int:
        """Rows read."""
        return len(self.items) + len(self.problems)

    @property
    def num_empty(self) -> int:
        """Items of which voters would see the id only."""
        return sum(item.show == ItemContent() for item in self.items)

    @property
    def num_named(self) -> int:
        """Items whose prediction is the name of a class only."""
        return sum(isinstance(item.prediction, str) for item in self.items)


def read_items(
    name: str, content: bytes, project: Project, images: Mapping[str, str], *, allow_private: bool = False
) -> ItemsFile:
    """Read a file, by the extension of its name; `images`: uploads by file name, for rows that name them.

    `allow_private`: images may come from this machine or its network.
    """
    text = text_of(content)
    end = name.rpartition(".")[2].lower()
    if end in ("json", "jsonl", "ndjson"):
        rows, ignored = _json_rows(text, is_lines=end != "json"), list[str]()
        project = project if project.models else project.with_models(_models_of_rows(rows))
    elif end in ("csv", "tsv", "txt", "tab"):
        project, rows, ignored = _table_rows(text, project)
    else:
        raise invalid("file", name, "a name ending in .csv, .tsv, .json or .jsonl", "save it as one.")
    items, predictions, problems = [], [], []
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        try:
            item, predicted = _item(row, project, images, allow_private=allow_private)
            if item.name in seen:
                rule = f"a different id for every item; row {seen[item.name]} has this one, too"
                raise invalid("id", item.name, rule, "rename one.")
            seen[item.name] = number
            items.append(item)
            predictions.append(predicted)
        except (QuorateError, ValidationError) as error:
            problems.append(RowProblem(number, row.item or _id_of(row.record), _words(error)))
    return ItemsFile(project.models, items, predictions, problems, ignored, _meant(ignored, project))


def _item(
    row: _Row, project: Project, images: Mapping[str, str], *, allow_private: bool
) -> tuple[NewItem, list[dict[str, float]]]:
    """The item of a row, and the probability of every class by each classifier, also of a class that is not named."""
    record = row.record
    if row.problem is not None:
        raise row.problem
    if not isinstance(record, dict):
        raise invalid("row", record, "an object with an id, e.g. {'id': 'a'}", "correct it.")
    if record.get("id") in (None, ""):
        raise invalid("id", "", "a different id for every item", "write one, or drop the row.")
    show = record.get("show")
    fields = {**{key: record[key] for key in record if key != "show"}, **show} if isinstance(show, dict) else record
    item = new_item(project, ItemIn.model_validate(_with_image(fields, images)), 0, allow_private=allow_private)
    classes = project.settings.classes
    probs = parse_prediction(item.prediction, classes, len(project.models), item=item.name).tolist()
    named = [dict(zip(classes, shares, strict=True)) for shares in probs]
    return item, [] if item.prediction is None else named


def _with_image(given: Record, images: Mapping[str, str]) -> Record:
    """The record with the upload that its image names."""
    image = given.get("image")
    name = re.split(r"[/\\]", image)[-1] if isinstance(image, str) else ""
    if name in images:
        return {**given, "image": images[name]}
    if isinstance(image, str) and IMAGE_FILE.fullmatch(image) and not image.startswith("/"):
        raise invalid("image", name, "an image that was dropped with the table, or an address", "drop both together.")
    return given


def _json_rows(text: str, *, is_lines: bool) -> list[_Row]:
    """A JSON list, an object with `items`, or one object on each line; an invalid line is a problem of its row."""
    try:
        whole = json.loads(text)
        rows = whole.get("items", [whole]) if isinstance(whole, dict) else whole
        return [_Row(row) for row in rows] if isinstance(rows, list) else [_Row(rows)]
    except (ValueError, RecursionError) as problem:
        if not is_lines:
            raise _unreadable(f"The file is not valid JSON ({str(problem)[:LONGEST_NAME]})", "Correct it.") from None
    return [_json_row(line) for line in text.split("\n") if line.strip()]


def _json_row(line: str) -> _Row:
    try:
        return _Row(_json(line, "row"))
    except InvalidInput as problem:
        return _Row(problem=problem)


def _json(text: str, where: str) -> JsonValue:
    """The value of a JSON text; an error if it is not valid."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise invalid(
            where, text[:LONGEST_NAME], f"valid JSON ({str(problem)[:LONGEST_NAME]})", "write one object on each line."
        ) from None
    return value


def _table_rows(text: str, project: Project) -> tuple[Project, list[_Row], list[str]]:
    """The project with the classifiers that the table names, the rows, and the columns that are not used."""
    head = text.partition("\n")[0]
    delimiter = max("\t;,", key=head.count)
    table = _rows(text, delimiter)
    names = [cell.strip() for cell in next(table, [])]
    project = project if project.models else project.with_models(_models_of_columns(names, project))
    meanings = {index: meaning for index, name in enumerate(names) if (meaning := _meaning(name, project))}
    if not any(kind == "id" for kind, *_ in meanings.values()):
        present = ", ".join(name[:LONGEST_NAME] for name in names[:MOST_NAMES]) or "nothing"
        more = ", …" if len(names) > MOST_NAMES else ""
        fix = "Rename the column with the items' ids."
        raise _unreadable(f"No column id (found: {present}{more})", fix, rule="a column named id")
    rows = [_record(row, len(names), meanings, project) for row in table if any(cell.strip() for cell in row)]
    return project, rows, [name for index, name in enumerate(names) if index not in meanings and name]


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows. An unclosed quotation mark turns the rest of the file, including END, into one cell."""
    row: list[str] | None = None
    try:
        for following in csv.reader(io.StringIO(f"{text}\n{END}", newline=""), delimiter=delimiter):
            if row is not None:
                yield row
            row = following
    except csv.Error as error:
        raise _unreadable(f"The table cannot be read: {error}", "Write it again as CSV.") from None
    if row != [END]:
        wrong = "A quotation mark is opened and never closed, so the rest of the file would be one cell"
        raise _unreadable(wrong, 'Close it, or write "" for one that is part of a text.')


def _models_of_rows(rows: Sequence[_Row]) -> tuple[str, ...]:
    """The classifiers named by the first row with `predictions`."""
    for row in rows:
        predictions = row.record.get("predictions") if isinstance(row.record, dict) else None
        if isinstance(predictions, (dict, list)) and predictions:
            return model_names(predictions)
    return ONE_MODEL


def _models_of_columns(names: Sequence[str], project: Project) -> tuple[str, ...]:
    """The classifiers named by columns such as `resnet:cat`."""
    ends = tuple(f"{mark}{name}" for mark in MARKS_OF_MODELS for name in project.settings.classes)
    prefixes = [name[: -len(end)] for name in names for end in ends if name.endswith(end)]
    models = dict.fromkeys(model for model in prefixes if model and model.lower() not in NOT_MODELS)
    return tuple(models) or ONE_MODEL


def _meaning(name: str, project: Project) -> tuple[str, ...] | None:
    """The meaning of a column: ("id",), ("text",), ("probs", model, class), or None if it is not used."""
    low = OTHER_NAMES.get(name.lower(), name.lower())
    if low in IDS:
        return ("id",)
    if low in FIELDS and not (low == name == "gold" and name in project.settings.classes):  # then: its probability
        return (low,)
    for model, rest in _models_in(name, project):
        for prefix in PREFIXES:
            if rest.startswith(prefix) and rest[len(prefix) :] in project.settings.classes:
                return ("probs", model, rest[len(prefix) :])
    return None


def _meant(ignored: Sequence[str], project: Project) -> dict[str, str]:
    """Unused columns whose name is similar to a class: otherwise probabilities would be lost silently."""
    classes = {name.lower(): name for name in project.settings.classes}
    similar = {}
    for column in ignored:
        names = {rest.lower().removeprefix(prefix) for _, rest in _models_in(column, project) for prefix in PREFIXES}
        near = [match for name in sorted(names) for match in get_close_matches(name[:200], classes, n=1, cutoff=0.8)]
        if near:
            similar[column] = classes[near[0]]
    return similar


def _models_in(name: str, project: Project) -> Iterator[tuple[str, str]]:
    models = project.models
    for model in models:
        for mark in MARKS_OF_MODELS:
            if name.startswith(model + mark):
                yield model, name[len(model) + 1 :]
    if len(models) == 1:
        yield models[0], name


def _record(cells: Sequence[str], width: int, meanings: Mapping[int, tuple[str, ...]], project: Project) -> _Row:
    """One row in the API's form; empty cells are left out."""
    if len(cells) != width:
        rule = f"{width} cells, like the first line"
        return _Row(problem=invalid("row", f"{len(cells)} cells", rule, "quote text that contains commas."))
    record: Record = {}
    probs: dict[str, dict[str, float]] = {}
    try:
        for index, (kind, *rest) in meanings.items():
            cell = cells[index].strip()
            if cell and kind == "probs":
                probs.setdefault(rest[0], {})[rest[1]] = _number(cell, rest[1])
            elif cell:
                record[kind] = _cell(kind, cell, project.settings.classes)
    except InvalidInput as problem:
        return _Row(problem=problem, item=str(record.get("id", "")))
    if len(project.models) > 1 and probs:
        record["predictions"] = probs
    elif probs:
        (record["prediction"],) = probs.values()
    return _Row(record)


def _cell(kind: str, cell: str, classes: Sequence[str]) -> JsonValue:
    """The value of a cell as in JSON. A prediction: the name of a class, JSON, or the score of the second of two."""
    if kind in ("pool_size", "priority"):
        value = _number(cell, kind)
        if value != int(value):
            raise invalid(kind, cell, "a whole number", "drop the decimals.")
        return int(value)
    if kind != "prediction" or cell in classes:
        return cell
    return _json(cell, "prediction") if cell[0] in "[{" else _score(cell)


def _score(cell: str) -> JsonValue:
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return cell  # refused as a class that the project does not have


def _number(cell: str, where: str) -> float:
    try:
        value = float(cell.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise invalid(where, cell, "a number", "write e.g. 0.8.")
    return value


def _id_of(record: object) -> str:
    return str(record.get("id", "")) if isinstance(record, dict) else ""


def _words(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = complaints([{**complaint, "loc": ("body", *complaint["loc"])} for complaint in error.errors()])[0]
        value = f" ({shown(first['value'])})" if first.get("value") is not None else ""
        return f"{first['field']}{value}: {first['rule']}. {first['fix']}"
    return str(error).replace("items[0].", "")

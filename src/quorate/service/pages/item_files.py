"""A dropped file (CSV, TSV, JSON, JSON lines) -> items to add, and what is wrong with each row that cannot be added."""

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

from fastapi import HTTPException
from pydantic import ValidationError

from quorate.errors import InvalidInput, QuorateError
from quorate.service.api.bodies import parsed
from quorate.service.api.items import ItemIn, new_item
from quorate.service.domain.items import NewItem
from quorate.service.domain.projects import Project
from quorate.service.pydantic_errors import complaints
from quorate.session.inputs import parse_prediction
from quorate.validate import shown

KINDS = (  # how files begin that people drop by mistake
    (b"%PDF", "a PDF", ""),
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook", " In a spreadsheet, save it as CSV UTF-8."),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file", " In a spreadsheet, save it as CSV UTF-8."),
    (b"\x1f\x8b", "a compressed file", " Unpack it first."),
    (b"\x89PNG", "a PNG image", ""),
    (b"\xff\xd8\xff", "a JPEG image", ""),
    (b"GIF8", "a GIF image", ""),
    (b"PAR1", "a Parquet file", " Write it as CSV or JSON lines."),
    (b"SQLite format 3", "a database", " Export it as CSV."),
)
MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16


def text_of(content: bytes) -> str:
    """The text, if it is some.

    >>> text_of(b"id,text"), text_of(b"\\xef\\xbb\\xbfid")
    ('id,text', 'id')
    """
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        raise InvalidInput("The file is empty.")
    for start, name, fix in KINDS:
        if content.startswith(start):
            raise InvalidInput(f"This is {name}, not a table.{fix}")
    is_wide = content[:2] in MARKS
    if not is_wide and b"\0" in content:
        raise InvalidInput("This is a binary file, not a table.")
    try:
        return content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("the file is not UTF-8 text; save it as UTF-8 (in a spreadsheet: CSV UTF-8).") from None


IDS = ("id", "item", "item_id", "name")
FIELDS = ("text", "image", "link", "pool_size", "priority", "prediction")
OTHER_NAMES = {"url": "link", "image_url": "image", "pool": "pool_size"}
PREFIXES = ("", "p_", "prob_", "p.", "prediction.", "prediction_", "probs_")
END = "the-end-of-the-table"
IMAGE_FILE = re.compile(r"[^:]+\.(png|jpe?g|webp|gif)", re.IGNORECASE)  # no address: the name of a file
MOST_NAMES, LONGEST_NAME = 12, 40  # of columns, in a message
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RowProblem:
    """What is wrong with one row, by its number in the file (the first item is 1) and the item's id if it has one."""

    row: int
    item: str
    words: str


@dataclass(frozen=True, slots=True)
class ItemsFile:
    """What a file holds: items that can be added, rows that cannot, columns that were not understood.

    `meant`: of those columns, the ones whose names nearly are a class's, and that class.
    """

    items: list[NewItem]
    problems: list[RowProblem]
    ignored: list[str]
    meant: dict[str, str] = field(default_factory=dict)

    @property
    def num_rows(self) -> int:
        """Rows read."""
        return len(self.items) + len(self.problems)


def read_items(
    name: str, content: bytes, project: Project, images: Mapping[str, str], *, allow_private: bool = False
) -> ItemsFile:
    """Read a file by its name's end; `images` are uploads by file name, for rows that name them.

    `allow_private`: images may come from this machine or its network.
    """
    text = text_of(content)
    end = name.rpartition(".")[2].lower()
    if end in ("json", "jsonl", "ndjson"):
        records, ignored = _json_records(text, is_lines=end != "json"), list[str]()
    elif end in ("csv", "tsv", "txt", "tab"):
        records, ignored = _table_records(text, project)
    else:
        raise InvalidInput(
            f"file={shown(name)}; expected a name ending in .csv, .tsv, .json or .jsonl; save it as one."
        )
    items, problems = [], []
    seen: dict[str, int] = {}
    for row, record in enumerate(records, start=1):
        try:
            item = _item(_with_id(record, row), project, images, allow_private)
            if item.name in seen:
                raise InvalidInput(
                    f"id {shown(item.name)} stands in row {seen[item.name]}, too; every item needs its own."
                )
            seen[item.name] = row
            items.append(item)
        except (QuorateError, ValidationError) as error:
            problems.append(RowProblem(row, _named(record), _words(error, record)))
    return ItemsFile(items, problems, ignored, _meant(ignored, project))


def _with_id(record: Any, row: int) -> Any:  # noqa: ANN401
    if isinstance(record, dict) and "_problem" not in record and record.get("id") in (None, ""):
        raise InvalidInput(f"row {row} has no id; every item needs one of its own: write it there, or drop the row.")
    return record


def _item(record: Any, project: Project, images: Mapping[str, str], allow_private: bool) -> NewItem:  # noqa: ANN401
    if not isinstance(record, dict):
        raise InvalidInput(f"{shown(record)}; expected an object with an id, e.g. {{'id': 'a'}}; correct it.")
    if "_problem" in record:
        raise InvalidInput(record["_problem"])
    show = record.get("show")
    given = {**{key: record[key] for key in record if key != "show"}, **show} if isinstance(show, dict) else record
    item = new_item(project, ItemIn.model_validate(_with_image(given, images)), 0, allow_private=allow_private)
    parse_prediction(item.prediction, project.settings.classes, len(project.settings.models), item=item.name)
    return item


def _with_image(given: Record, images: Mapping[str, str]) -> Record:
    """The record with the upload that its image names."""
    image = given.get("image")
    name = re.split(r"[/\\]", image)[-1] if isinstance(image, str) else ""
    if name in images:
        return {**given, "image": images[name]}
    if isinstance(image, str) and IMAGE_FILE.fullmatch(image) and not image.startswith("/"):
        raise InvalidInput(f"{name} was not dropped with the table: drop both together.")
    return given


def _json_records(text: str, *, is_lines: bool) -> list[Any]:
    """A JSON list, an object with `items`, or one object on each line; a line that is no JSON is its row's problem."""
    try:
        whole = parsed(text.encode())
        rows = whole.get("items", [whole]) if isinstance(whole, dict) else whole
        return rows if isinstance(rows, list) else [rows]
    except HTTPException as refusal:
        if not is_lines:
            raise InvalidInput(str(refusal.detail).replace("the body", "the file", 1)) from None
    except json.JSONDecodeError:
        pass
    return [_line(line) for line in text.split("\n") if line.strip()]


def _line(line: str) -> Any:  # noqa: ANN401
    try:
        return parsed(line.encode())
    except json.JSONDecodeError as error:
        return {"_problem": f"not JSON ({error.msg} at character {error.pos + 1}); write one object on each line."}
    except HTTPException as refusal:
        return {"_problem": str(refusal.detail).replace("the body", "the row", 1)}


def _table_records(text: str, project: Project) -> tuple[list[Record], list[str]]:
    """The rows of a table, and the columns that mean nothing here."""
    head = text.partition("\n")[0]
    delimiter = max("\t;,", key=head.count)
    table = _rows(text, delimiter)
    names = [cell.strip() for cell in next(table, [])]
    meanings = {index: meaning for index, name in enumerate(names) if (meaning := _meaning(name, project))}
    if not any(kind == "id" for kind, *_ in meanings.values()):
        found = ", ".join(name[:LONGEST_NAME] for name in names[:MOST_NAMES]) or "nothing"
        more = ", …" if len(names) > MOST_NAMES else ""
        raise InvalidInput(f"No column id (found: {found}{more}). Rename the one that holds the items' ids.")
    rows = [_record(row, len(names), meanings, project) for row in table if any(cell.strip() for cell in row)]
    return rows, [name for index, name in enumerate(names) if index not in meanings and name]


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows. A quotation mark that is opened and not closed makes one cell of all that follows, END included."""
    row: list[str] | None = None
    try:
        for following in csv.reader(io.StringIO(f"{text}\n{END}", newline=""), delimiter=delimiter):
            if row is not None:
                yield row
            row = following
    except csv.Error as error:
        raise InvalidInput(f"the file is no table that can be read: {error}; write it again as CSV.") from None
    if row != [END]:
        wrong = "a quotation mark is opened and never closed, so that the rest of the file would be one cell"
        raise InvalidInput(f'{wrong}; close it, or write "" for one that is part of a text.')


def _meaning(name: str, project: Project) -> tuple[str, ...] | None:
    """What a column is: ("id",), ("text",), ("probs", model, class), or nothing known."""
    low = OTHER_NAMES.get(name.lower(), name.lower())
    if low in IDS:
        return ("id",)
    if low in FIELDS:
        return (low,)
    for model, rest in _models_in(name, project):
        for prefix in PREFIXES:
            if rest.startswith(prefix) and rest[len(prefix) :] in project.settings.classes:
                return ("probs", model, rest[len(prefix) :])
    return None


def _meant(ignored: Sequence[str], project: Project) -> dict[str, str]:
    """Columns not understood whose names are nearly a class's: probabilities would be lost without a word."""
    classes = {name.lower(): name for name in project.settings.classes}
    found = {}
    for column in ignored:
        names = {rest.lower().removeprefix(prefix) for _, rest in _models_in(column, project) for prefix in PREFIXES}
        near = [each for name in sorted(names) for each in get_close_matches(name[:200], classes, n=1, cutoff=0.8)]
        if near:
            found[column] = classes[near[0]]
    return found


def _models_in(name: str, project: Project) -> Iterator[tuple[str, str]]:
    models = project.settings.models
    for model in models:
        for mark in (":", ".", "/"):
            if name.startswith(model + mark):
                yield model, name[len(model) + 1 :]
    if len(models) == 1:
        yield models[0], name


def _record(cells: Sequence[str], width: int, meanings: Mapping[int, tuple[str, ...]], project: Project) -> Record:
    """One row as the API would take it; empty cells are left out."""
    if len(cells) != width:
        return {
            "_problem": f"{len(cells)} cells; expected {width}, as the first line has; quote text that holds commas."
        }
    record: Record = {}
    probs: dict[str, dict[str, float]] = {}
    try:
        for index, (kind, *rest) in meanings.items():
            cell = cells[index].strip()
            if cell and kind == "probs":
                probs.setdefault(rest[0], {})[rest[1]] = _number(cell, rest[1])
            elif cell:
                record[kind] = _cell(kind, cell)
    except InvalidInput as error:
        return {"_problem": str(error), "id": record.get("id", "")}
    if len(project.settings.models) > 1 and probs:
        record["predictions"] = probs
    elif probs:
        (record["prediction"],) = probs.values()
    return record


def _cell(kind: str, cell: str) -> Any:  # noqa: ANN401
    if kind in ("pool_size", "priority"):
        value = _number(cell, kind)
        if value != int(value):
            raise InvalidInput(f"{kind}={shown(cell)}; expected a whole number; drop the decimals.")
        return int(value)
    if kind != "prediction" or cell[:1] not in "[{":
        return cell
    value = _line(cell)
    if isinstance(value, dict) and "_problem" in value:
        raise InvalidInput(f"prediction: {value['_problem']}")
    return value


def _number(cell: str, where: str) -> float:
    try:
        value = float(cell.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInput(f"{where}={shown(cell)}; expected a number; write e.g. 0.8.")
    return value


def _named(record: Any) -> str:  # noqa: ANN401
    return str(record.get("id", "")) if isinstance(record, dict) else ""


def _words(error: Exception, record: Any) -> str:  # noqa: ANN401
    if isinstance(error, ValidationError):
        first = complaints([{**each, "loc": ("body", *each["loc"])} for each in error.errors()], record)[0]
        value = f" ({shown(first['value'])})" if first.get("value") is not None else ""
        return f"{first['field']}{value}: {first['rule']}. {first['fix']}"
    return str(error).replace("items[0].", "")

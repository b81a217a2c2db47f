"""Exports of decisions, votes, events, the session's journal and the access log, as CSV or JSON lines.

Rows are read while the file is written, in bounded memory; few exports run at a time.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import chain
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import Connection, exists, select

from quorate.reports.format import names_text
from quorate.session import FIRST_SEQ, encode_line, header_line
from quorate.validate import invalid
from quorate_service.access.log import LogEntry, all_lines, note
from quorate_service.access.principal import Member
from quorate_service.access.request_context import now_of
from quorate_service.api.dependencies import Owner, ProjectId, TheProjects, Viewer
from quorate_service.api.fields import problems
from quorate_service.domain.events import ITEM_KINDS, project_events
from quorate_service.domain.item_projection import ABSENT
from quorate_service.domain.listing import BATCH, DecisionRow, all_decisions, voter_names
from quorate_service.domain.projects import Project, Projects
from quorate_service.problems import TooMany
from quorate_service.store import POOL, StoreUnavailable, snapshot
from quorate_service.store.bulk import in_batches
from quorate_service.store.schema import ballots, counted, is_gold, items, not_withdrawn
from quorate_service.store.schema import events as acts

VERDICT_COLUMNS = ("verdict", "verdict_by", "verdict_time")  # after the columns of `quorate run`
NOT_EXPORTED = ("probs", "closed", "voters", *VERDICT_COLUMNS)
DECISION_COLUMNS = tuple(each.name for each in fields(DecisionRow) if each.name not in NOT_EXPORTED)
VOTE_COLUMNS = (
    "item", "voter", "voter_name", "label", "time", "kind", "late", "retracted", "cast_label", "signed_in_by",
)  # fmt: skip
GOLD_COLUMNS = ("item", "voter", "voter_name", "label", "time", "kind", "gold", "right")
EVENT_COLUMNS = ("event", "item", "seq", "kind", "voter", "time", "body", "signed_in_by")
LOG_COLUMNS = ("line", "time", "kind", "account_id", "account_name", "made_by", "made_by_name", "details")
ACTS = ("vote", "abstain", "skip")
Cell = str | float | int | bool | None
NAMED = ("params", "tune")  # the fields of a decision that refer to events of the project
Format = Literal["csv", "jsonl"]
MEDIA_TYPES: dict[Format, str] = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
IN_MEMORY = 8_000_000  # bytes; larger exports use a temporary file
CHUNK = 1 << 16
FORMULA = re.compile(r"(^|[;\t|])([\s\"']*[=+\-@\t\r])")  # commas and line ends do not split a quoted cell
JSON_COLUMNS = ("body", "details")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
MOST = POOL // 4
SECONDS = 5.0  # the Retry-After of a refused export
RESPONSES = problems(403, 404) | {
    200: {"description": "A file", "content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}}
}


@dataclass(frozen=True, slots=True)
class Export:
    """A table whose rows are read while they are written."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Cell, ...]]


def utc(time: float | None) -> str | None:
    """A time in UTC, as ISO 8601, which `quorate run` and spreadsheets read.

    >>> utc(0.0015)
    '1970-01-01T00:00:00.002+00:00'
    """
    return None if time is None else datetime.fromtimestamp(round(time, 3), UTC).isoformat(timespec="milliseconds")


def decisions(projects_: Projects, connection: Connection, project: Project) -> Export:
    """The closed items with their final `answer`, then the columns of `quorate run`; `voters` is the last, as there."""
    probs = (f"prob_{name}" for name in project.settings.classes)
    columns = (*DECISION_COLUMNS, *probs, *VERDICT_COLUMNS, "voters")

    def cells(row: DecisionRow) -> tuple[Cell, ...]:
        values = (getattr(row, name) for name in DECISION_COLUMNS)
        return (*values, *row.probs, row.verdict, row.verdict_by, utc(row.verdict_time), names_text(row.voters))

    return Export(columns, map(cells, all_decisions(projects_, connection, project)))


def votes(connection: Connection, project: Project) -> Export:
    """Every act of a voter once, in order, including late and retracted ones. Withdrawn items are left out.

    `label` is empty unless the vote counts, so that `quorate run --votes` reads the votes that count; `cast_label` is
    the class chosen.
    """
    return Export(VOTE_COLUMNS, _votes(connection, project))


def _votes(connection: Connection, project: Project) -> Iterator[tuple[Cell, ...]]:
    later = acts.alias()  # a later act of the same voter on the item means that the earlier one was retracted
    again = exists().where(
        later.c.item_id == acts.c.item_id, later.c.voter == acts.c.voter, later.c.id > acts.c.id,
        later.c.kind.in_((*ACTS, "retract")),
    )  # fmt: skip
    query = select(acts.c.id, acts.c.voter, acts.c.time, acts.c.kind, acts.c.body, acts.c.signed_in_by)
    query = query.add_columns(again.label("is_retracted"))
    query = query.join(items, items.c.id == acts.c.item_id).where(counted, ~acts.c.voter.startswith(ABSENT))
    query = query.where(acts.c.project_id == project.id, acts.c.kind.in_(ACTS))
    names = voter_names(connection, project)
    for row in chain.from_iterable(in_batches(connection, query, acts.c.id, size=BATCH)):
        body, is_retracted = json.loads(row.body), bool(row.is_retracted)
        if not body.get("undone"):  # undoing a skip is stored as a skip, too
            cast, late = body.get("label"), bool(body.get("late"))
            stands = None if is_retracted else cast
            name = names.get(row.voter, row.voter.removeprefix("ext:"))
            cells = (stands, utc(row.time), row.kind, late, is_retracted, cast, row.signed_in_by)
            yield (body["item"], row.voter, name, *cells)


def gold(connection: Connection, project: Project) -> Export:
    """The current answers to gold items, in the order of the items, with the known answer."""
    return Export(GOLD_COLUMNS, _gold(connection, project))


def _gold(connection: Connection, project: Project) -> Iterator[tuple[Cell, ...]]:
    names = voter_names(connection, project)
    query = select(items).where(items.c.project_id == project.id, is_gold, not_withdrawn)
    for rows in in_batches(connection, query, items.c.number, after=-1, size=BATCH):
        by_id = {row.id: row for row in rows}
        answers = select(ballots).where(ballots.c.item_id.in_(by_id)).order_by(ballots.c.item_id, ballots.c.time)
        for ballot in connection.execute(answers):
            row, name = by_id[ballot.item_id], names.get(ballot.voter, ballot.voter.removeprefix("ext:"))
            right = None if ballot.label is None else ballot.label == row.gold
            yield (row.name, ballot.voter, name, ballot.label, utc(ballot.time), ballot.kind, row.gold, right)


def events(connection: Connection, project: Project) -> Export:
    """Every event of the project, in order, as stored; `body` is its JSON."""
    return Export(EVENT_COLUMNS, _events(connection, project))


def _events(connection: Connection, project: Project) -> Iterator[tuple[Cell, ...]]:
    for row in project_events(connection, project.id):
        item = json.loads(row.body).get("item") if row.item_id is not None else None
        yield (row.id, item, row.seq, row.kind, row.voter, utc(row.time), row.body, row.signed_in_by)


def log(connection: Connection, project: Project) -> Export:
    """The access log, the oldest line first; `details` is JSON."""

    def cells(line: LogEntry) -> tuple[Cell, ...]:
        named = (line.account_id, line.account_name, line.made_by, line.made_by_name)
        return (line.id, utc(line.time), line.kind, *named, json.dumps(line.details, ensure_ascii=False))

    return Export(LOG_COLUMNS, map(cells, all_lines(connection, project.id)))


def journal(connection: Connection, project: Project) -> Iterator[bytes]:
    """The lines of a session's journal, from which `quorate.Session.resume` continues.

    Events are numbered from 1 without gaps; decisions refer to "learn" and "tune" events by these numbers.
    """
    yield header_line(project.session.header())
    number, numbers = FIRST_SEQ, {0: 0}
    query = select(items.c.id).where(items.c.project_id == project.id, is_gold)
    gold_items = set(connection.execute(query).scalars())  # gold items are never decided
    for row in project_events(connection, project.id):
        if row.kind not in (*ITEM_KINDS, "learn", "tune") or row.item_id in gold_items:
            continue
        event: dict[str, Any] = {"seq": number} | json.loads(row.body) | {"seq": number}
        if row.item_id is None:
            numbers[row.id] = number
        elif "decision" in event:
            decision = event["decision"]
            event["decision"] = decision | {name: numbers[decision[name]] for name in NAMED if name in decision}
        yield encode_line(event, what=f"event {number}")
        number += 1


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    """The file from its beginning, in chunks; closed at the end."""
    with file:
        file.seek(0)
        while piece := file.read(CHUNK):
            yield piece


def _jsonl(export: Export, file: IO[bytes]) -> None:
    for row in export.rows:
        line = json.dumps(dict(zip(export.columns, row, strict=True)), ensure_ascii=False, allow_nan=False)
        file.write(f"{line}\n".encode())


def _csv(export: Export, file: IO[bytes]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow([inert(name) for name in export.columns])
    escapes = [inert_json if name in JSON_COLUMNS else inert for name in export.columns]
    for row in export.rows:
        cells = zip(escapes, row, strict=True)
        writer.writerow([escape(cell) if isinstance(cell, str) else cell for escape, cell in cells])
    text.detach()


def inert(cell: str) -> str:
    """The text, with an apostrophe wherever a spreadsheet would read a formula. Numbers are left alone.

    Spreadsheets in some locales split cells at semicolons, tabs or bars, so each such part is escaped.

    >>> inert("=1+1"), inert("cat"), inert("-1"), inert("-1+2"), inert("x;=1+1")
    ("'=1+1", 'cat', '-1', "'-1+2", "x;'=1+1")
    """
    return cell if NUMBER.fullmatch(cell) else FORMULA.sub(lambda found: f"{found[1]}'{found[2]}", cell)


def inert_json(cell: str) -> str:
    r"""The same for a JSON object: escapes within its strings keep the JSON value unchanged.

    >>> inert_json('{"bias":[0.1,-0.2],"item":"x;=1+1"}')
    '{"bias":[0.1,-0.2],"item":"x;\\u003d1+1"}'
    """
    return FORMULA.sub(lambda found: f"{found[0][:-1]}\\u{ord(found[0][-1]):04x}", cell)


WRITERS: dict[Format, Callable[[Export, IO[bytes]], None]] = {"csv": _csv, "jsonl": _jsonl}


class ExportSlots:
    """Limits concurrent exports: one per account, MOST in all."""

    def __init__(self) -> None:
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, account_id: str) -> Iterator[None]:
        """Take a slot until the block ends; 429 if this account has one already, or all are taken."""
        with self._lock:
            if account_id in self._busy or len(self._busy) >= MOST:
                raise _wait(mine=account_id in self._busy)
            self._busy.add(account_id)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(account_id)


def _wait(*, mine: bool) -> TooMany:
    who = "your account is exporting already" if mine else f"{MOST} exports are being made already"
    return TooMany(who, f"one export at a time for each account, {MOST} for all", retry_after=SECONDS)


router = APIRouter(prefix="/api/v1/projects/{project_id}", tags=["decisions"])

What = Literal["decisions", "votes", "gold", "events", "journal"]
Kept = What | Literal["access-log"]
TABLES = {"votes": votes, "gold": gold, "events": events, "access-log": log}


@router.get("/export", summary="Export a project", response_class=Response, responses=RESPONSES)
def export(
    request: Request,
    project_id: ProjectId,
    caller: Viewer,
    projects_: TheProjects,
    what: Annotated[
        What, Query(description="The journal is JSON lines that `quorate.Session.resume` reads.")
    ] = "decisions",
    format_: Annotated[Format, Query(alias="format", description="A journal is always JSON lines.")] = "jsonl",
) -> Response:
    """A consistent snapshot; one export at a time per account. In CSV, text that looks like a formula gets an
    apostrophe. Votes: every act once; `label` is empty unless the vote counts, `cast_label` is what was chosen, also of
    a retracted vote; `late`: cast when the item was closed. Times are ISO 8601, in UTC. Gold: answers to gold
    items; apart from the events, no other table contains them."""
    if what == "journal" and format_ != "jsonl":
        raise invalid("format", format_, "'jsonl' for a journal", "leave it out.")
    return _sent(request, projects_, project_id, caller, what, format_)


def _sent(
    request: Request, projects_: Projects, project_id: str, caller: Member, what: Kept, chosen: Format
) -> Response:
    """The file; the export is noted in the access log, unless the database cannot be written, e.g. on a full disk."""
    me = caller.account_id
    with request.app.state.export_slots.taken(me):
        with suppress(StoreUnavailable), projects_.store.write() as connection:
            told = {"what": what, "format": chosen}
            note(connection, "export", project_id=project_id, account_id=me, by=me, now=now_of(request), **told)
        file = exported(projects_, project_id, what, chosen)
    headers = {"Content-Disposition": f'attachment; filename="{what}.{chosen}"', "Content-Length": str(file.tell())}
    return StreamingResponse(chunks(file), headers=headers, media_type=MEDIA_TYPES[chosen])


@router.get(
    "/access-log/export",
    summary="Export the access log",
    response_class=Response,
    responses=RESPONSES,
    tags=["people"],
)
def export_access_log(
    request: Request, project_id: ProjectId, caller: Owner, projects_: TheProjects,
    format_: Annotated[Format, Query(alias="format")] = "jsonl",
) -> Response:  # fmt: skip
    """All lines, the oldest first; the last line is this export."""
    return _sent(request, projects_, project_id, caller, "access-log", format_)


def exported(projects_: Projects, project_id: str, what: Kept, format_: Format) -> IO[bytes]:
    """The export as a file, written to its end; whoever takes it closes it."""
    file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
    try:
        with snapshot(projects_.store) as connection:
            project = projects_.get_in(connection, project_id)
            if what == "journal":
                file.writelines(journal(connection, project))
            elif what == "decisions":
                WRITERS[format_](decisions(projects_, connection, project), file)
            else:
                WRITERS[format_](TABLES[what](connection, project), file)
    except BaseException:
        file.close()
        raise
    return file

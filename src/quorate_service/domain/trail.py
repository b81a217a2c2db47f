"""An item's audit trail: every event with its decision, the parameters in force, and the same decision recomputed.

`trail` is for owners and auditors; `check` recomputes every decision of a store and finds those that do not follow
from their events. Called by the API, the item's page and `quorate service check`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, func, select

from quorate.session import CLOSE_ENOUGH, Event, ParamsVersionOf, is_decided, item_session, recompute, version_named
from quorate.types import Decision
from quorate_service.domain.events import is_folded, item_events, list_actions
from quorate_service.domain.gold import gold_values
from quorate_service.domain.item_projection import OUT_OF_LINE, after_event, is_wanted
from quorate_service.domain.listing import all_items, find_item
from quorate_service.domain.projects import Project, Projects
from quorate_service.store import Store, snapshot
from quorate_service.store.schema import events, items, projects

RECOMPUTED = (
    "is_open", "is_wanted", "label", "confidence", "votes", "num_votes", "num_abstained", "num_late", "reason",
    "pool_size", "decided_votes", "is_settled", "audit", "audit_loss", "again", "panel",
)  # fmt: skip
MOST_KEPT = 100  # disagreements returned; the rest is counted


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A stored value that does not follow from the events: its item, its event (None: the item's row), both values."""

    item: str
    seq: int | None
    stored: Any
    recomputed: Any


def trail(projects_: Projects, connection: Connection, project: Project, name: str) -> dict[str, Any]:
    """The full history of the item: settings, parameters in force, events, recomputed decisions.

    `quorate.session.single.recompute` makes the same decisions from the same JSON.
    """
    row = find_item(connection, project.id, name)
    written = item_events(connection, row.id)
    again = list(
        recompute(project.session, written, number=row.number, version_of=projects_.versions(connection, project))
    )
    return {
        "item": row.name,
        "number": row.number,
        "settings": project.session.header(),
        "eras": _versions_as_json(projects_, connection, project, written),
        "events": [_with_decision(event, decision) for event, decision in zip(written, again, strict=True)],
        "beside": beside(connection, row.id),
        "owner_actions": [asdict(action) for action in list_actions(connection, project.id, item_id=row.id)],
        "signed_in_by": signed_in_by(connection, row.id),
    }


def beside(connection: Connection, item_id: int) -> list[Event]:
    """The item's events that the session core never sees, in order: skips, answers to a gold item, verdicts."""
    query = select(events.c.body).where(events.c.item_id == item_id, ~is_folded).order_by(events.c.seq)
    return [json.loads(body) for body in connection.execute(query).scalars()]


def signed_in_by(connection: Connection, item_id: int) -> dict[int, str]:
    """How the author of each event signed in, by the event's `seq`; without events made by no sign-in."""
    query = select(events.c.seq, events.c.signed_in_by).where(events.c.item_id == item_id)
    query = query.where(events.c.signed_in_by.is_not(None)).order_by(events.c.seq)
    return {row.seq: row.signed_in_by for row in connection.execute(query)}


def disagreements(projects_: Projects, connection: Connection, project: Project) -> Iterator[Disagreement]:
    """Every stored decision and item's row that does not follow from the events."""
    for row in all_items(connection, project.id):
        yield from item_disagreements(projects_, connection, project, row)


def item_disagreements(
    projects_: Projects, connection: Connection, project: Project, row: Row[Any]
) -> Iterator[Disagreement]:
    """The same for one item."""
    version_of = projects_.versions(connection, project)
    written = item_events(connection, row.id)
    again = recompute(project.session, written, number=row.number, version_of=version_of)
    for event, decision in zip(written, again, strict=True):
        if decision is None:
            continue
        fresh = {name: getattr(decision, name) for name in ("ask", "label", "confidence", "num_votes", "reason")}
        stored = {name: event["decision"][name] for name in fresh}
        if not same(stored, fresh):
            yield Disagreement(row.name, event["seq"], stored, fresh)
    values = _row_again(project, row, written, version_of) | ({} if row.gold is None else gold_values(row.gold))
    fresh = {name: values[name] for name in RECOMPUTED} | {"seq": _last_seq(connection, row.id)}
    stored = {name: getattr(row, name) for name in fresh}
    if not same(stored, fresh):
        yield Disagreement(row.name, None, stored, fresh)
    if row.verdict is not None:
        verdicts = [event["label"] for event in beside(connection, row.id) if event["type"] == "verdict"]
        last = verdicts[-1] if verdicts else None
        if row.verdict != last:
            yield Disagreement(row.name, None, {"verdict": row.verdict}, {"verdict": last})
    logged, kept = _logged_draw(written), None if row.audit_rate is None else {"rate": row.audit_rate}
    if logged != (kept if kept is None else kept | {"drawn": row.audit is not None}):
        yield Disagreement(row.name, None, kept, logged)


def _row_again(project: Project, row: Row[Any], written: list[Event], version_of: ParamsVersionOf) -> dict[str, Any]:
    """The row recomputed from its events: as last decided, with the draw made then, and what came later."""
    last = max(number for number, event in enumerate(written) if is_decided(event))
    drawn = (_logged_draw(written) or {"drawn": False})["drawn"]
    out = {name: getattr(row, name) for name in OUT_OF_LINE}  # not in the events
    out["again"] = row.again and "asked"
    values = _values(project, row, written[: last + 1], version_of, None) | out | {"audit": "drawn" if drawn else None}
    values["is_wanted"] = is_wanted(values)
    if last + 1 < len(written):
        values |= _values(project, row, written, version_of, values)
    return values


def _values(
    project: Project, row: Row[Any], written: list[Event], version_of: ParamsVersionOf, before: Mapping[str, Any] | None
) -> dict[str, Any]:
    now = version_of(project.learn_event, project.tune_event)
    session, _ = item_session(project.session, written, number=row.number, now=now, version_of=version_of)
    decision, is_first = session.decision(row.name), before is None
    return after_event(project, session, row.name, decision, leases_out=0, row=before, decided=is_first)


def _logged_draw(written: list[Event]) -> dict[str, Any] | None:
    """The audit draw in force: that of the last event that decided, if it closed the item."""
    return [event for event in written if is_decided(event)][-1].get("audit")


def _last_seq(connection: Connection, item_id: int) -> int:
    query = select(events.c.seq).where(events.c.item_id == item_id).order_by(events.c.seq.desc()).limit(1)
    return int(connection.execute(query).scalar_one())


def same(stored: Mapping[str, Any], fresh: Mapping[str, Any]) -> bool:
    """Whether all fields are equal, the confidence up to rounding."""
    plain = [name for name in stored if name != "confidence"]
    near = abs(stored["confidence"] - fresh["confidence"]) <= CLOSE_ENOUGH
    return near and all(stored[name] == fresh[name] for name in plain)


def _versions_as_json(
    projects_: Projects, connection: Connection, project: Project, written: list[Event]
) -> list[dict[str, Any]]:
    """The parameters, learned and of the method, that the item's decisions refer to, once each."""
    named = {version_named(event) for event in written if is_decided(event)}
    versions = []
    for learn, tune in sorted(named):
        params, version = (
            projects_.params(connection, project, learn),
            projects_.params_version(connection, project, learn, tune),
        )
        bias = None if params.bias is None else params.bias.tolist()
        versions.append(
            {
                "params": learn, "tune": tune, "method": version.method.describe(),
                "theta": params.theta, "phi": params.phi, "tau": params.tau.tolist(), "bias": bias,
            }
        )  # fmt: skip
    return versions


def _with_decision(event: Event, decision: Decision | None) -> Event:
    if decision is None:
        return event
    probs = None if decision.probs is None else [float(value) for value in decision.probs]
    return event | {"recomputed": {"ask": decision.ask, "label": decision.label, "confidence": decision.confidence,
                                   "reason": decision.reason, "probs": probs}}  # fmt: skip


Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Verification:
    """How much was checked, how many disagreements there are, and the first of them with their project's id."""

    num_projects: int
    num_items: int
    num_events: int
    num_votes: int
    num_disagreements: int
    first: tuple[tuple[str, Disagreement], ...]


def check(store: Store, *, progress: Progress | None = None) -> Verification:
    """Recompute every item of every project from its events, in one snapshot."""
    cache = Projects(store)
    kept: list[tuple[str, Disagreement]] = []
    num_items = num_wrong = 0
    with snapshot(store) as connection:
        everything = [cache.of_row(row) for row in connection.execute(select(projects).order_by(projects.c.id))]
        total = _count(connection, items)
        for project in everything:
            for row in all_items(connection, project.id):
                for disagreement in item_disagreements(cache, connection, project, row):
                    num_wrong += 1
                    kept += [(project.id, disagreement)] if len(kept) < MOST_KEPT else []
                num_items += 1
                if progress is not None:
                    progress(num_items, total, project.name)
        return Verification(
            num_projects=len(everything),
            num_items=num_items,
            num_events=_count(connection, events),
            num_votes=_count(connection, events, events.c.kind == "vote"),
            num_disagreements=num_wrong,
            first=tuple(kept),
        )


def _count(connection: Connection, table: Table, *conditions: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())

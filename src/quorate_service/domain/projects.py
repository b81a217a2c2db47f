"""Creates, reads and changes projects, and reads the parameter versions (learned, and of the method) of decisions.

A `Project` is a value as of one read; `Projects` caches what never changes (settings of a version, past parameters), so
a vote reads one small row. Called by everything in `service.domain`, the API and the pages.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NewType, TypeVar, cast, get_args

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from quorate.errors import InvalidInput, UnknownItem, shown
from quorate.model import Gains
from quorate.session import (
    Event,
    Outbox,
    ParamsVersion,
    ParamsVersionOf,
    Session,
    Settings,
    gains_of,
    initial,
    item_session,
    learned_of,
    learned_record,
    tuned,
)
from quorate.types import PriorParams
from quorate.validate import invalid
from quorate_service.access.log import note
from quorate_service.domain.events import append_project_event, record
from quorate_service.domain.settings import ProjectSettings, goal_control, goal_of, parameters_of
from quorate_service.domain.webhooks import announce
from quorate_service.problems import Outdated
from quorate_service.store import Store
from quorate_service.store.schema import events, projects

ProjectId = NewType("ProjectId", str)
Key = TypeVar("Key")
Value = TypeVar("Value")
State = Literal["active", "paused", "archived"]
MOST_NAME = 200
MOST_CACHED = 1000  # entries of each cache; older ones are read again
OF_ID = select(projects).where(projects.c.id == bindparam("project"))


class UnknownProject(UnknownItem):
    """No project with this id that the caller may see."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project as of one read. `learn_event`, `tune_event`: the events whose parameters are in force.

    `goal_event`: the "tune" event that set the goal in force; the goal counts items that got their votes after it

    `seed` of ties and audit draws   `models` names of the classifiers, from the first import; none before
    `coin_key` is secret: with it one could predict which items are audited.
    """

    id: str
    name: str
    settings: ProjectSettings
    session: Settings
    version: int
    state: State
    created: float
    learn_event: int
    tune_event: int
    goal_event: int
    seed: int
    models: tuple[str, ...]
    coin_key: str = field(repr=False)

    def with_models(self, models: Sequence[str]) -> Project:
        """The project with these classifiers."""
        session = self.settings.session(seed=self.seed, num_classifiers=max(1, len(models)))
        return replace(self, models=tuple(models), session=session)

    def by_model(self, rows: Sequence[Sequence[float]]) -> dict[str, dict[str, float]]:
        """Values (M, K) by the names of classifiers and classes."""
        named = zip(self.models, rows, strict=True)
        return {model: dict(zip(self.settings.classes, row, strict=True)) for model, row in named}


class Projects:
    """All projects of a store, with a cache that is safe with several threads and workers."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        # by their texts, so never outdated
        self._settings: dict[tuple[str, str, str], tuple[ProjectSettings, Settings]] = {}
        self._versions: dict[tuple[str, int, int, int, int], ParamsVersion] = {}
        self._parameters: dict[int, dict[str, Any]] = {}

    def create(self, name: str, settings: ProjectSettings, *, by: str | None = None, now: float) -> Project:
        """Create a project; its first event is a "tune" with the initial parameters of the policy."""
        with self.store.write() as connection:
            return self.create_in(connection, name, settings, by=by, now=now)

    def create_in(
        self, connection: Connection, name: str, settings: ProjectSettings, *, by: str | None = None, now: float
    ) -> Project:
        """`create` within the caller's transaction."""
        settings.check()
        project_id = f"p_{secrets.token_hex(8)}"
        row = {"id": project_id, "name": checked_name(name), "settings": json.dumps(settings.as_json()), "created": now}
        drawn = {"coin_key": secrets.token_hex(16), "seed": secrets.randbelow(2**31)}
        connection.execute(insert(projects).values(row | drawn))
        note(connection, "project made", project_id=project_id, by=by, now=now)
        self.tune_in(connection, project_id, parameters_of(settings), now=now)
        record(connection, project_id, "create", settings.as_json() | {"name": row["name"]}, by=by, now=now)
        return self.get_in(connection, project_id)

    def get(self, project_id: str) -> Project:
        """The current state of the project."""
        with self.store.read() as connection:
            return self.get_in(connection, project_id)

    def get_in(self, connection: Connection, project_id: str) -> Project:
        """`get` within the caller's transaction."""
        row = connection.execute(OF_ID, {"project": project_id}).one_or_none()
        if row is None:
            raise unknown(project_id)
        return self.of_row(row)

    def locked(self, connection: Connection, project_id: str) -> Project:
        """`get_in`, with the project's row locked until the transaction ends; votes, which refer to it, do not wait."""
        row = connection.execute(OF_ID.with_for_update(key_share=True), {"project": project_id}).one_or_none()
        if row is None:
            raise unknown(project_id)
        return self.of_row(row)

    def of_row(self, row: Row[Any]) -> Project:
        """The project of a row of the table `projects`."""
        key, models = (row.id, row.settings, row.models), tuple(json.loads(row.models))
        held = self._settings.get(key)
        if held is None:
            settings = ProjectSettings.from_json(json.loads(row.settings))
            held = (settings, settings.session(seed=row.seed, num_classifiers=max(1, len(models))))
            self._hold(self._settings, key, held)
        return Project(
            id=row.id,
            name=row.name,
            settings=held[0],
            session=held[1],
            version=row.version,
            state=row.state,
            created=row.created,
            learn_event=row.learn_event,
            tune_event=row.tune_event,
            goal_event=row.goal_event,
            seed=row.seed,
            models=models,
            coin_key=row.coin_key,
        )

    def change(
        self,
        project_id: str,
        *,
        name: str | None = None,
        state: str | None = None,
        version: int | None = None,
        by: str | None = None,
        now: float,
        **changes: Any,  # noqa: ANN401
    ) -> Project:
        """Change name, state or settings; a change of parameters is an event. `by`: the account.

        `version`: the one that the change is based on; refused if there is a later one. None: any.
        """
        with self.store.write() as connection:
            before = self.locked(connection, project_id)
            if version not in (None, before.version):
                named = {key: value for key, value in (("name", name), ("state", state)) if value is not None}
                raise _outdated(before, version, named | changes)
            values = {
                "name": before.name if name is None else checked_name(name),
                "state": before.state if state is None else checked_state(state),
            }
            settings = before.settings.changed(**changes) if changes else before.settings
            return self._change_in(connection, before, settings, values, by=by, now=now)

    def _change_in(
        self,
        connection: Connection,
        before: Project,
        settings: ProjectSettings,
        values: Mapping[str, str],
        *,
        by: str | None,
        now: float,
    ) -> Project:
        """Store new settings and columns of a project that is locked; nothing if they are those it has."""
        if (settings, values["name"], values["state"]) == (before.settings, before.name, before.state):
            return before
        changed_row = {"settings": json.dumps(settings.as_json()), "version": before.version + 1, **values}
        connection.execute(update(projects).where(projects.c.id == before.id).values(changed_row))
        self._tuned(connection, before, settings, now=now)
        after = self.get_in(connection, before.id)
        changed = _changes(before, after)
        action = record(connection, before.id, "change", changed, by=by, now=now)
        announce(connection, before.id, [("project.changed", changed)], now=now)
        note(connection, "settings", project_id=before.id, by=by, now=now, action=action)
        return after

    def _tuned(self, connection: Connection, before: Project, settings: ProjectSettings, *, now: float) -> None:
        """Put the parameters of new settings in force. A new goal starts anew; one that stays keeps its parameter."""
        in_force, wanted = self.parameters_in(connection, before.tune_event), parameters_of(settings)
        is_new = goal_of(settings) != goal_of(before.settings)
        control = goal_control(settings)
        if control is not None and not is_new:
            wanted |= {name: in_force[name] for name in control.parameters}
        if is_new or wanted != in_force:
            number = self.tune_in(connection, before.id, wanted, now=now)
        if is_new:
            connection.execute(update(projects).where(projects.c.id == before.id).values(goal_event=number))

    def tune_in(self, connection: Connection, project_id: str, parameters: dict[str, Any], *, now: float) -> int:
        """Put these parameters of the policy (all of them) in force; returns the number of the event."""
        number = append_project_event(connection, project_id, "tune", {"parameters": parameters}, now=now)
        in_force = update(projects).where(projects.c.id == project_id).values(tune_event=number)
        connection.execute(in_force)
        return number

    def learn_in(
        self,
        connection: Connection,
        project_id: str,
        params: PriorParams,
        num_items: int,
        *,
        now: float,
        gains: Gains | None = None,
    ) -> int:
        """Put these learned parameters in force; returns the number of the event."""
        body = learned_record(params, gains) | {"num_items": num_items}
        number = append_project_event(connection, project_id, "learn", body, now=now)
        in_force = update(projects).where(projects.c.id == project_id).values(learn_event=number)
        connection.execute(in_force)
        return number

    def params_version(
        self, connection: Connection, project: Project, learn_event: int, tune_event: int
    ) -> ParamsVersion:
        """The parameters in force after these two events."""
        key = (project.id, project.version, len(project.models), learn_event, tune_event)
        version = self._versions.get(key)
        if version is None:
            params, gains = self.learned(connection, project, learn_event)
            parameters = self.parameters_in(connection, tune_event)
            method = tuned(project.session.method, parameters) if parameters else project.session.method
            learned = learned_of(params, learn_event, gains if learn_event else None)
            version = ParamsVersion(learned, method, tune_event, params)
            self._hold(self._versions, key, version)
        return version

    def versions(self, connection: Connection, project: Project) -> ParamsVersionOf:
        """`params_version` as a function of the two event numbers."""
        return lambda learn, tune: self.params_version(connection, project, learn, tune)

    def version_now(self, connection: Connection, project: Project) -> ParamsVersion:
        """The parameters in force now."""
        return self.params_version(connection, project, project.learn_event, project.tune_event)

    def item_session(
        self, connection: Connection, project: Project, row: Row[Any], past: Iterable[Event], *, seq: int | None = None
    ) -> tuple[Session, Outbox]:
        """A session with this item only, after its `past` events, and its outbox (`session.single`)."""
        now, version_of = self.version_now(connection, project), self.versions(connection, project)
        return item_session(project.session, past, number=row.number, now=now, version_of=version_of, seq=seq)

    def parameters_in(self, connection: Connection, tune_event: int) -> dict[str, Any]:
        """The policy's parameters set by this event."""
        parameters = self._parameters.get(tune_event)
        if parameters is None:
            parameters = _body(connection, tune_event)["parameters"]
            self._hold(self._parameters, tune_event, parameters)
        return dict(parameters)

    def params(self, connection: Connection, project: Project, learn_event: int) -> PriorParams:
        """The parameters learned with this event; 0: the initial ones."""
        return self.learned(connection, project, learn_event)[0]

    def learned(self, connection: Connection, project: Project, learn_event: int) -> tuple[PriorParams, Gains | None]:
        """The same, with what earlier ones won over the classifier (`learning.answers`)."""
        if learn_event == 0:
            start: PriorParams = initial(project.session).params
            return start, Gains() if project.session.method.proves_answers else None
        body = _body(connection, learn_event)
        return PriorParams(body["theta"], body["phi"], body["tau"], body["bias"]), gains_of(body)

    def _hold(self, cache: dict[Key, Value], key: Key, value: Value) -> None:
        with self._lock:
            while len(cache) >= MOST_CACHED:
                del cache[next(iter(cache))]
            cache[key] = value


def _as_json(project: Project) -> dict[str, Any]:
    """Everything that can change, by name."""
    return project.settings.as_json() | {"name": project.name, "state": project.state}


def _changes(before: Project, after: Project) -> dict[str, Any]:
    """The new values of what differs, by name."""
    old = _as_json(before)
    return {name: value for name, value in _as_json(after).items() if value != old[name]}


def _outdated(project: Project, version: int, sent: Mapping[str, Any]) -> Outdated:
    """The error for a change that is based on an older version; it names what is sent and is another value now."""
    now = _as_json(project)
    other = {name: value for name, value in sent.items() if now[name] != value}
    name, value = next(iter(other.items()), ("version", version))
    present = ", ".join(f"`{key}` is {shown(now[key])}" for key in other)
    rule = f"a change of version {project.version}, the latest" + (f", in which {present}" if present else "")
    return invalid(name, value, rule, "read the project again, and send what is still to change.", error=Outdated)


def unknown(project_id: str) -> UnknownProject:
    """The error for a project that does not exist or that the caller may not see."""
    fix = "see the list of projects."
    return invalid("project_id", project_id, "the id of a project of yours", fix, error=UnknownProject)


def archived(project: Project) -> InvalidInput:
    """The error for a project that no longer accepts items and votes."""
    rule = f"a project that accepts items and votes; {project.name!r} does not"
    return invalid("state", project.state, rule, "an owner can set its state to active.")


def not_archived(project: Project) -> Project:
    """The project; an error if it is archived."""
    if project.state == "archived":
        raise archived(project)
    return project


def _body(connection: Connection, number: int) -> dict[str, Any]:
    text = connection.execute(select(events.c.body).where(events.c.id == number)).scalar_one()
    return dict(json.loads(text))


def checked_name(name: object) -> str:
    """A project's name: printable text on one line."""
    if not isinstance(name, str) or not name.strip() or len(name) > MOST_NAME or not name.isprintable():
        raise invalid("name", name, f"1 to {MOST_NAME} printable characters", "choose another.")
    return name.strip()


def checked_state(state: object) -> State:
    """One of the states a project can be in."""
    if state not in get_args(State):
        raise invalid("state", state, f"one of {', '.join(get_args(State))}", "choose one.")
    return cast(State, state)

"""Requests generated from the OpenAPI description, as an owner: never a 5xx, every response as described."""

import tempfile
from contextlib import nullcontext, suppress
from itertools import count
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from quorate_service.app import create_app
from quorate_service.config import ServiceConfig
from quorate_service.store import Store
from tests.quorate_service.api.test_access import PUBLIC, TABLE, with_everything

# A form that ends in the middle of a file leaves that file to the garbage collector: Starlette's, and harmless.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
CHECKS = (not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance)


@pytest.fixture(scope="module")
def owner_world(tmp_path_factory):
    yield from made_world(tmp_path_factory)


@pytest.fixture
def active_world(tmp_path_factory):
    """A project that no generated request has paused."""
    yield from made_world(tmp_path_factory)


def made_world(tmp_path_factory):
    world = with_everything(tmp_path_factory.mktemp("schema"))
    world.app.state.vote_buckets, world.app.state.background = NoLimit(), []
    yield world
    world.store.close()


class NoLimit:
    """Lifts the rate limit: this test votes faster than people."""

    def take(self, _key, *, now):
        return 0.0 * now


def describe():
    """The description, from an app that is never called; the tests replace the app."""
    app = create_app(Store(f"sqlite:///{Path(tempfile.gettempdir()) / 'never.db'}"), ServiceConfig())
    return schemathesis.openapi.from_dict(app.openapi())


SCHEMA = describe()
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations()}
SETTINGS = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def name_real_things(case):
    """Existing items and classes, where the request names some."""
    real = {"item": "x", "id": "z/1", "label": "cat"}
    for part in (case.body, case.query):
        if isinstance(part, dict):
            part.update({name: value for name, value in real.items() if part.get(name) is not None})


def test_every_route_is_described():
    assert set(OPERATIONS) == {" ".join(each) for each in {*TABLE, *PUBLIC} - {("GET", "/api/v1/openapi.json")}}


@pytest.mark.parametrize("label", sorted(OPERATIONS))
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.name.lower())
def test_no_generated_request_fails_and_every_response_is_as_described(label, mode, owner_world):
    number = count()
    head = {"Authorization": f"Bearer {owner_world.keys['owner']}"}

    @SETTINGS
    @given(case=OPERATIONS[label].as_strategy(generation_mode=mode))
    def check(case):
        if next(number) % 4:  # made up ids would only ever be told 404
            case.path_parameters.update({k: v for k, v in owner_world.parts.items() if k in case.path_parameters})
            if mode is GenerationMode.POSITIVE:
                name_real_things(case)
        owner_world.clock.now += 1
        case.call_and_validate(app=owner_world.app, headers=head, checks=CHECKS)

    with suppress(Unsatisfiable) if mode is GenerationMode.NEGATIVE else nullcontext():  # nothing to send that is wrong
        check()


@pytest.mark.parametrize("path", ["votes", "undo"])
def test_generated_requests_about_a_held_item_are_accepted(path, active_world):
    """Votes and undos that succeed: the caller holds the item, the act is one of three, the rest is generated."""
    acts, number, statuses = ({"label": "cat"}, {"abstain": True}, {"skip": True}), count(), []
    owner, where = active_world.client("owner"), f"/projects/{active_world.here}"
    head = {"Authorization": f"Bearer {active_world.keys['owner']}"}

    @SETTINGS
    @given(case=OPERATIONS[f"POST /api/v1/projects/{{project_id}}/{path}"].as_strategy())
    def check(case):
        turn = next(number)
        active_world.clock.now += 1
        active_world.items(f"{path} {turn}")
        (leased,) = owner.api("POST", f"{where}/next", 200, json={"count": 1}).json()["items"]
        act = acts[turn % 3]
        if path == "undo":
            owner.api("POST", f"{where}/votes", 200, json={"item": leased["item"], **act})
            act = {}
        kept = {"next": case.body["next"]} if isinstance(case.body, dict) and "next" in case.body else {}
        case.body, case.headers["Idempotency-Key"] = {"item": leased["item"], **act, **kept}, f"{path}-{turn}"
        case.path_parameters["project_id"] = active_world.here
        statuses.append(case.call_and_validate(app=active_world.app, headers=head, checks=CHECKS).status_code)

    check()
    assert statuses.count(200) >= 4, statuses

"""Every error becomes a problem with field, value, rule and fix, without internal details."""

from typing import Annotated

import pytest
from fastapi import FastAPI, Header, HTTPException, Query
from fastapi.testclient import TestClient
from pydantic import BaseModel, Field, model_validator
from sqlalchemy.exc import DataError
from sqlalchemy.exc import TimeoutError as NoConnection

from quorate import errors
from quorate.validate import invalid
from quorate_service import problems
from quorate_service.problems import LinkOver, NotAllowed, NotFound, UnknownLink
from quorate_service.store import StoreUnavailable
from tests.quorate_service.access.conftest import Config


class Inner(BaseModel, extra="forbid"):
    label: str


class Body(BaseModel, extra="forbid"):
    pool_size: int = Field(ge=1)
    name: str = "x"
    token: str = ""
    inner: Inner | None = None
    many: list[Inner] = []

    @model_validator(mode="after")
    def _named(self):
        if self.name == "":
            raise ValueError("expected a name")
        return self


def make_app(error=None, page=None):
    app = FastAPI()
    app.state.config = Config()
    problems.install(app, page=page)

    @app.get("/raise")
    def fail():
        raise error

    @app.post("/body")
    def body(_body: Body, limit: Annotated[int, Query(le=10)] = 5, authorization: Annotated[int, Header()] = 0):
        return {}

    return app


def answer_to(error, **options):
    return TestClient(make_app(error, **options), raise_server_exceptions=False).get("/raise")


BROKEN = {
    errors.InvalidInput: 422, errors.InvalidPrediction: 422, errors.UnknownClass: 422, errors.UnknownItem: 404,
    errors.ItemExists: 409, errors.DuplicateVote: 409, errors.RequestReused: 409, NotFound: 404,
}  # fmt: skip


@pytest.mark.parametrize(
    ("error", "status"),
    [
        *[(invalid("x", 1, "y", "z", error=error), status) for error, status in BROKEN.items()],
        (errors.MissingExtra("x"), 501),
        (UnknownLink("x", "y"), 404),
        (LinkOver("x", "y"), 410),
        (NotAllowed("x", "y", field="role", rule="owner"), 403),
        (HTTPException(418, "teapot"), 418),
        (DataError("select", {}, Exception("secret")), 422),
        (NoConnection("secret"), 503),
    ],
)
def test_each_error_has_its_status(error, status):
    answer = answer_to(error)
    assert answer.status_code == status == answer.json()["status"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    assert {"type", "title", "detail"} <= set(answer.json())
    if status < 500:
        assert {"field", "value", "rule", "fix"} <= set(answer.json())
    assert "secret" not in answer.text


@pytest.mark.parametrize(("seconds", "header"), [(0.3, "1"), (30.0, "30")])
def test_an_unavailable_store_sends_retry_after(seconds, header):
    answer = answer_to(StoreUnavailable("busy", retry_after=seconds))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, header)


@pytest.mark.parametrize("error", [RuntimeError("secret"), errors.JournalCorrupt("secret"), KeyError("secret")])
def test_unexpected_errors_are_logged_and_not_shown(error, caplog):
    answer = answer_to(error)
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "secret" in caplog.text


def test_a_message_without_parts_is_the_rule_of_the_request(every_problem_is_whole):
    body = answer_to(errors.InvalidInput("pool_size=0; expected a whole number >= 1")).json()
    assert (body["field"], body["value"]) == ("request", None)
    assert body["rule"] == body["detail"] == every_problem_is_whole.pop() == "pool_size=0; expected a whole number >= 1"
    assert body["fix"]


def post(content, **options):
    return TestClient(make_app()).post("/body", content=content, **options)


@pytest.mark.parametrize(
    ("content", "field", "value"),
    [
        ('{"pool_size": 0}', "pool_size", 0),
        ('{"pool_size": "many"}', "pool_size", "many"),
        ('{"pool_size": 1, "nam": "x"}', "nam", "x"),
        ('{"pool_size": NaN}', "pool_size", "nan"),
        ('{"pool_size": 1e999}', "pool_size", "inf"),
        ('{"pool_size": 1, "inner": {}}', "inner.label", None),
        ('{"pool_size": 1, "many": [{"label": "x"}, {"label": 5}]}', "many[1].label", 5),
        ('{"pool_size": 1, "name": ""}', "body", None),
        ('{"pool_size": 1, "name": "x", "inner": "' + "y" * 999 + '"}', "inner", "y" * 120 + "…"),
    ],
)
def test_invalid_fields_are_named_with_value_rule_and_fix(content, field, value):
    body = post(content, headers={"Content-Type": "application/json"}).json()
    assert (body["status"], body["field"], body["value"]) == (422, field, value)
    assert body["rule"]
    assert body["fix"]


def test_every_complaint_is_listed_and_secrets_are_not_sent_back():
    headers = {"Authorization": "hunter2", "Content-Type": "application/json"}
    answer = post('{"pool_size": 0, "token": 12345}', params={"limit": 11}, headers=headers)
    body = answer.json()
    assert {error["field"] for error in body["errors"]} == {"pool_size", "token", "limit", "authorization"}
    assert "12345" not in answer.text
    assert "hunter2" not in answer.text


def test_unknown_paths_and_methods_are_problems_too():
    client = TestClient(make_app())
    nowhere = client.get("/nowhere").json()
    assert (nowhere["status"], nowhere["field"], nowhere["value"]) == (404, "path", "/nowhere")
    answer = client.delete("/body")
    assert (answer.json()["status"], answer.headers["allow"]) == (405, "POST")
    assert (answer.json()["value"], answer.json()["rule"], answer.json()["fix"]) == ("DELETE", "POST", "Use POST.")


def test_invalid_json_is_named():
    body = post('{"pool_size": 1,\n "name" "x"}', headers={"Content-Type": "application/json"}).json()
    assert (body["field"], body["rule"]) == ("body", "not valid JSON: Expecting ':' delimiter")

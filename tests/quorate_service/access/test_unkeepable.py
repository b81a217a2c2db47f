"""Values that cannot be stored are the client's error on every database, never an internal error."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import insert, literal, select

from quorate_service import problems
from quorate_service.store.schema import accounts
from tests.quorate_service.access.conftest import BOTH, NOW, Config


def answer(store, act):
    app = FastAPI()
    app.state.config = Config()
    problems.install(app)

    @app.get("/")
    def endpoint():
        with store.write() as connection:
            act(connection)

    return TestClient(app, raise_server_exceptions=False).get("/")


@BOTH
def test_lone_surrogates_and_huge_numbers_are_unprocessable(empty):
    for act in (
        lambda connection: connection.execute(insert(accounts).values(id="\ud800", name="x", created=NOW)),
        lambda connection: connection.execute(select(literal(2**70))),
    ):
        found = answer(empty, act)
        assert (found.status_code, found.headers["content-type"]) == (422, problems.MEDIA_TYPE)


@pytest.mark.parametrize("shared_store", ["postgresql"], indirect=True)
def test_a_nul_is_unprocessable_where_the_database_refuses_it(empty):
    found = answer(
        empty, lambda connection: connection.execute(insert(accounts).values(id="\0", name="x", created=NOW))
    )
    assert found.status_code == 422

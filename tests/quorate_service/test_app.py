"""The whole app: health, readiness, metrics, background work, and the OpenAPI description."""

import ast
import time
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from anyio.to_thread import current_default_thread_limiter
from fastapi.testclient import TestClient
from httpx import ASGITransport, AsyncClient

import quorate_service as service
from quorate_service.app import create_app, from_environment
from quorate_service.background import EVERY, Housekeeping
from quorate_service.config import ServiceConfig
from quorate_service.store import Store
from quorate_service.store.schema import requests
from tests.quorate_service.api.conftest import World


@pytest.fixture
def world(database_url):
    made = World(database_url, ServiceConfig(metrics_token="t0ken"))
    yield made
    made.store.close()


def test_it_is_alive_and_ready(world):
    client = world.client()
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json()["status"] == "ready"


def test_it_is_not_ready_without_its_tables(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'empty.db'}")
    client = TestClient(create_app(store, ServiceConfig()))
    answer = client.get("/readyz")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert client.get("/healthz").status_code == 200
    store.close()


def test_metrics_count_by_route_template_and_need_the_token(world):
    world.items("x", "y")
    owner = world.client("owner")
    owner.api("POST", f"/projects/{world.here}/votes", 200, json={"item": "x", "label": "cat", "voter": "anna"})
    owner.api("GET", "/nothing/at/all", 404)
    assert owner.get("/metrics").status_code == 403
    told = world.client().get("/metrics", headers={"Authorization": "Bearer t0ken"})
    assert told.status_code == 200 and told.headers["content-type"].startswith("text/plain")
    lines = told.text.splitlines()
    votes = 'quorate_requests_total{method="POST",route="/api/v1/projects/{project_id}/votes",status="200"} 1.0'
    assert votes in lines and 'quorate_acts_total{kind="vote"} 1.0' in lines
    assert 'quorate_items{state="open"} 2.0' in lines and "quorate_webhook_backlog 0.0" in lines
    assert 'quorate_requests_total{method="GET",route="none",status="404"} 1.0' in lines
    assert world.here not in told.text


def test_metrics_without_a_token_are_for_this_machine_only(store):
    app = create_app(store, ServiceConfig())
    for address, headers, status in (
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("192.0.2.1", {}, 403),
        ("127.0.0.1", {"X-Forwarded-For": "192.0.2.1"}, 403),
        ("127.0.0.1", {"Host": "[::1]:8000"}, 200),
        ("127.0.0.1", {"Host": "127.0.0.1:8000"}, 200),
        ("127.0.0.1", {"Host": "labels.example.org"}, 403),
        ("127.0.0.1", {"Host": "127.0.0.1.example.org"}, 403),
    ):
        client = TestClient(app, client=(address, 1234), base_url="http://localhost")
        assert client.get("/metrics", headers=headers).status_code == status, (address, headers)


def test_the_factory_prepares_the_database_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.setenv("QUORATE_DATABASE", f"sqlite:///{tmp_path / 'fresh.db'}")
    app = from_environment()
    assert TestClient(app).get("/readyz").status_code == 200
    app.state.store.close()


def test_unexpected_errors_are_problems_and_say_nothing(world, monkeypatch):
    monkeypatch.setattr(world.projects, "get", lambda _: 1 / 0)
    answer = world.client("owner").api("GET", f"/projects/{world.here}", 500)
    assert answer.headers["content-type"] == "application/problem+json" and "division" not in answer.text


def test_a_database_that_is_away_is_a_503_with_a_time_to_wait(world, tmp_path):
    world.store.close()
    for file in tmp_path.glob("service.db*"):
        file.unlink()
    (tmp_path / "service.db").mkdir()  # a file that cannot be opened
    for path in ("/api/v1/projects", "/readyz"):
        answer = world.client("owner").get(path)
        assert answer.status_code == 503 and int(answer.headers["retry-after"]) >= 1
    assert world.client().get("/healthz").status_code == 200


def test_the_description_is_complete(world):
    found = world.app.openapi()
    assert {"key", "cookie"} == set(found["components"]["securitySchemes"])
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"] and operation["tags"], (method, path)
            for status, answer in operation["responses"].items():
                if status >= "400":
                    assert list(answer["content"]) == ["application/problem+json"], (method, path, status)
    ids = [operation["operationId"] for operations in found["paths"].values() for operation in operations.values()]
    assert len(ids) == len(set(ids))


def test_every_write_takes_an_idempotency_key_or_says_that_it_may_be_repeated(world):
    found, without = world.app.openapi(), set()
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            if method != "get" and "Idempotency-Key" not in {each["name"] for each in operation.get("parameters", ())}:
                without.add("/" + path.rpartition("/")[2])
                assert "May be repeated" in operation["description"], path
    told = found["info"]["description"].partition("except ")[2].partition(", which")[0].replace("\n", " ")
    assert set(told.replace(" and", ",").replace("`", "").split(", ")) == without


def test_old_idempotency_keys_are_forgotten_once_an_hour(world):
    owner = world.client("owner")
    owner.api("PATCH", f"/projects/{world.here}", 200, json={"name": "n"}, headers={"Idempotency-Key": "k"})
    tidy, now = Housekeeping(world.store), time.time()

    def kept():
        with world.store.read() as connection:
            return len(connection.execute(requests.select()).all())

    assert tidy(world.clock.now + 60) == 0 and kept() == 1
    tidy(world.clock.now + 61 + EVERY)
    assert kept() == 1
    tidy(now + 30 * 86400)
    assert kept() == 0


def test_nothing_but_webhooks_can_call_out():
    """An image's address is for the voter's browser: no other part of the service could fetch it."""
    service_files = Path(service.__file__).parent
    clients = {"httpx", "requests", "urllib.request", "http.client", "aiohttp", "socket", "ftplib", "smtplib"}
    found = set()
    for path in service_files.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found |= {str(path.relative_to(service_files)) for name in names if name in clients}
    # webhooks; besides, the command line asks for a free port, and Label Studio is the owner's own server
    assert found == {"sender.py", "cli/serve.py", "label_studio/client.py"}


def test_every_list_of_the_api_comes_in_pages(world):
    spec, lists = world.app.openapi(), {}
    for path, methods in spec["paths"].items():
        content = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        parts = spec["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], schema)
        assert parts.get("type") != "array", f"{path} answers with a bare list"
        if {"items", "next"} <= set(parts.get("properties", {})):
            lists[path] = {each["name"] for each in methods["get"]["parameters"]}
    assert len(lists) > 7 and all({"cursor", "limit"} <= names for names in lists.values()), lists


def test_health_is_answered_while_every_thread_is_busy(world):
    """All threads are busy, as with slow requests; health checks do not need one."""

    async def ask():
        async with AsyncClient(transport=ASGITransport(world.app), base_url="http://localhost") as client:
            limiter = current_default_thread_limiter()
            taken = [object() for _ in range(int(limiter.total_tokens))]
            for each in taken:
                limiter.acquire_on_behalf_of_nowait(each)
            try:
                with fail_after(20):
                    return [(await client.get(path)).status_code for path in ("/healthz", "/readyz")]
            finally:
                for each in taken:
                    limiter.release_on_behalf_of(each)

    assert anyio.run(ask) == [200, 200]

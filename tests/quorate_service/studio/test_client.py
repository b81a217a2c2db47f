"""The client waits where it is told to, gives up in time, and shows the token to nobody but its server."""

import httpx
import pytest

from quorate_service.label_studio.client import TRIES, Gone, LabelStudio, Refused, Unreachable
from quorate_service.label_studio.tasks import UnexpectedAnswer
from tests.refusals import refused

TOKEN = "secret-token-of-the-owner"
PROJECT = {"id": 3, "title": "x", "label_config": "<View/>", "maximum_annotations": 2, "skip_queue": ""}


class Server:
    """Answers as told, one after another, the last again and again; remembers what was asked."""

    def __init__(self, *answers):
        self.answers, self.asked, self.slept = list(answers), [], []
        transport = httpx.MockTransport(self._answer)
        self.client = LabelStudio("http://studio.local/", TOKEN, sleep=self.slept.append, transport=transport)

    def _answer(self, request):
        self.asked.append(request)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found


def test_a_busy_server_is_asked_again_after_the_time_it_names():
    busy = httpx.Response(429, headers={"Retry-After": "3"})
    server = Server(busy, httpx.Response(503), httpx.Response(200, json=PROJECT))
    assert server.client.project(3).maximum_annotations == 2
    assert server.slept[0] == 3.0
    assert len(server.slept) == 2


@pytest.mark.parametrize("trouble", [httpx.ConnectError("no"), httpx.ReadTimeout("slow"), httpx.Response(500)])
def test_a_server_that_stays_away_is_given_up_after_some_tries(trouble):
    server = Server(trouble)
    with pytest.raises(Unreachable):
        server.client.project(3)
    assert len(server.asked) == TRIES


@pytest.mark.parametrize("trouble", [httpx.ReadTimeout("slow"), httpx.Response(500), httpx.Response(504)])
def test_a_webhook_whose_creation_was_not_confirmed_is_not_created_again(trouble):
    server = Server(trouble)
    with pytest.raises(Unreachable):
        server.client.add_webhook(3, "http://quorate.local/hook", {})
    assert (len(server.asked), server.slept) == (1, [])


@pytest.mark.parametrize(
    ("status", "error"), [(401, Refused), (403, Refused), (404, Gone), (400, UnexpectedAnswer), (301, UnexpectedAnswer)]
)
def test_what_will_not_get_better_is_not_tried_again_and_never_shows_the_token(status, error):
    server = Server(httpx.Response(status, text="x"))
    with pytest.raises(error) as problem:
        server.client.project(3)
    assert len(server.asked) == 1
    assert TOKEN not in str(problem.value)
    assert "not given" not in problem.value.render({"token": "--token"})
    assert TOKEN not in repr(server.client)


def test_all_pages_of_tasks_are_read():
    pages = [httpx.Response(200, json={"tasks": [{"id": n}] * 100, "total": 201}) for n in range(3)]
    server = Server(*pages)
    assert len(list(server.client.tasks(3))) == 3
    assert [request.url.params["page"] for request in server.asked] == ["1", "2", "3"]


def test_reading_ends_at_an_empty_page_whatever_the_total_says():
    full, empty = ({"tasks": tasks, "total": 10**9} for tasks in ([{"id": 1}] * 100, []))
    server = Server(httpx.Response(200, json=full), httpx.Response(200, json=empty))
    assert len(list(server.client.tasks(3))) == 2


def test_a_personal_access_token_is_exchanged_and_again_once_that_has_expired():
    told = iter([
        httpx.Response(200, json={"access": "first"}), httpx.Response(200, json=PROJECT), httpx.Response(401),
        httpx.Response(200, json={"access": "second"}), httpx.Response(200, json=PROJECT),
    ])  # fmt: skip
    asked = []

    def answer(request):
        asked.append((request.url.path, request.headers.get("Authorization")))
        return next(told)

    client = LabelStudio("http://studio.local", "aa.bb.cc", transport=httpx.MockTransport(answer))
    client.project(3)
    client.project(3)
    signed = [how for path, how in asked if path == "/api/projects/3/"]
    assert signed == ["Bearer first", "Bearer first", "Bearer second"]


def test_a_webhook_that_is_gone_need_not_be_removed():
    Server(httpx.Response(404)).client.remove_webhook(5)


@pytest.mark.parametrize("url", ["ftp://x", "x", "http://user@host", "http://host/?a=1", ""])
def test_an_invalid_address_is_refused(url):
    with refused("url"):
        LabelStudio(url, TOKEN)


@pytest.mark.parametrize("token", ["", "two words", "é", "line\nbreak"])
def test_a_token_that_cannot_be_one_is_refused_and_not_shown(token):
    with refused("token", value=None):
        LabelStudio("http://x", token)

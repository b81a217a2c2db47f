"""Client of Label Studio's API: honours Retry-After, retries a few times, and never shows the token.

Both kinds of token work: personal access tokens, which are exchanged for short-lived ones, and legacy tokens.
Called by the service's connector and by the commands.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from quorate.errors import InvalidInput, QuorateError
from quorate.validate import invalid
from quorate.version import __version__
from quorate_service.label_studio.tasks import RemoteProject, as_project, unexpected

log = logging.getLogger("quorate_service.label_studio")

TIMEOUT = 30.0
TRIES = 4
FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0  # seconds between tries
PAGE = 100  # tasks in one answer
ACTIONS = (
    "ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED",
    "TASKS_CREATED", "TASKS_DELETED", "PROJECT_UPDATED",
)  # fmt: skip
AGAIN = (429, 500, 502, 503, 504)  # retried; 500 also occurs when its SQLite is busy


class Unreachable(QuorateError):
    """Label Studio does not respond, or asks to retry later. Nothing is lost: the next read catches up."""


class Refused(QuorateError):
    """Label Studio refused the request: the token is wrong or lacks the permission."""


class Gone(QuorateError):
    """The project or task no longer exists."""


def checked_address(url: str) -> str:
    """The address of a Label Studio server, without a trailing slash; it may have a path.

    >>> checked_address("http://127.0.0.1:8080/")
    'http://127.0.0.1:8080'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise invalid("url", url, "the address of Label Studio", "pass e.g. `url=http://127.0.0.1:8080`.")
    return url.rstrip("/")


class LabelStudio:
    """One server, as one user. `close` closes the connections."""

    def __init__(
        self, url: str, token: str, *, sleep: Callable[[float], object] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        self.url = checked_address(url)
        self._token, self._sleep = _checked_token(token), sleep
        self._access = ""  # the short-lived token for which a personal access token was exchanged
        self._http = httpx.Client(
            timeout=TIMEOUT, follow_redirects=False, trust_env=False, transport=transport,
            headers={"User-Agent": f"quorate/{__version__}", "Accept": "application/json"},
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"LabelStudio({self.url!r})"

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def project(self, project: int) -> RemoteProject:
        """A project's settings."""
        return as_project(self._call("GET", f"/api/projects/{project}/"))

    def me(self) -> str:
        """The e-mail address of the user whose token this is."""
        told = self._call("GET", "/api/current-user/whoami")
        return str(told.get("email") or "") if isinstance(told, Mapping) else ""

    def task(self, task: int) -> object:
        """One task with its annotations and predictions."""
        return self._call("GET", f"/api/tasks/{task}/")

    def tasks(self, project: int) -> Iterator[list[object]]:
        """All tasks of a project by their ids, in pages."""
        page = 1
        while True:
            asked = {"project": project, "fields": "all", "page": page, "page_size": PAGE}
            told = self._call("GET", "/api/tasks", params=asked)
            if not isinstance(told, Mapping) or not isinstance(told.get("tasks"), list):
                raise unexpected("tasks", told, "a list of tasks")
            total = told.get("total")
            if isinstance(total, bool) or not isinstance(total, int):
                raise unexpected("total", total, "the number of tasks")
            yield told["tasks"]
            if not told["tasks"] or page * PAGE >= total:
                return
            page += 1

    def change_task(self, task: int, values: Mapping[str, Any]) -> None:
        """Set fields of a task."""
        self._call("PATCH", f"/api/tasks/{task}/", json=dict(values))

    def webhooks(self, project: int) -> list[Mapping[str, Any]]:
        """The webhooks of a project."""
        told = self._call("GET", "/api/webhooks/", params={"project": project})
        return [hook for hook in told if isinstance(hook, Mapping)] if isinstance(told, list) else []

    def add_webhook(self, project: int, url: str, headers: Mapping[str, str]) -> int:
        """Register a webhook to `url` with these headers; returns its id."""
        told = self._call("POST", "/api/webhooks/", json={
            "project": project, "url": url, "headers": dict(headers), "send_payload": True, "is_active": True,
            "send_for_all_actions": False, "actions": list(ACTIONS),
        })  # fmt: skip
        if not isinstance(told, Mapping) or not isinstance(told.get("id"), int):
            raise unexpected("webhook", told, "the id of the webhook")
        return int(told["id"])

    def remove_webhook(self, webhook: int) -> None:
        """Remove a webhook, if it exists."""
        try:
            self._call("DELETE", f"/api/webhooks/{webhook}/")
        except Gone:
            return

    def _call(self, method: str, path: str, **given: Any) -> object:  # noqa: ANN401 - httpx's own arguments
        """The JSON of the response; retried while the server is busy or unreachable.

        A POST is sent once: if only its response was lost, another one would create a second webhook.
        """
        problem = ""
        wait = FIRST_WAIT
        for attempt in range(1 if method == "POST" else TRIES):
            if attempt:
                self._sleep(wait)
            wait = min(FIRST_WAIT * 2**attempt, LONGEST_WAIT)
            try:
                answer = self._send(method, path, **given)
            except httpx.TransportError as cause:
                problem = f"it does not respond ({type(cause).__name__})"
                continue
            if answer.status_code not in AGAIN:
                return self._read(answer, path)
            problem = f"it responds with status {answer.status_code}"
            wait = _retry_after(answer, wait)
        fix = "check that it is running; quorate continues automatically when it responds."
        raise invalid("url", self.url, f"a Label Studio server that can be reached; {problem}", fix, error=Unreachable)

    def _send(self, method: str, path: str, **given: Any) -> httpx.Response:  # noqa: ANN401
        """One attempt; a personal access token is exchanged again if the short-lived one has expired."""
        is_personal = self._token.count(".") == 2
        if is_personal and not self._access:
            self._exchange()
        answer = self._http.request(method, self.url + path, headers=self._header(), **given)
        if answer.status_code == 401 and is_personal:
            self._exchange()
            answer = self._http.request(method, self.url + path, headers=self._header(), **given)
        return answer

    def _exchange(self) -> None:
        answer = self._http.post(f"{self.url}/api/token/refresh/", json={"refresh": self._token})
        told = _json(answer) if answer.status_code == 200 else {}
        self._access = str(told.get("access") or "") if isinstance(told, Mapping) else ""

    def _header(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._access}" if self._access else f"Token {self._token}"}

    def _read(self, answer: httpx.Response, path: str) -> object:
        status = answer.status_code
        if status in (401, 403):
            fix = "Copy one from Account & Settings there, of a user who may change the project."
            wrong = f"Label Studio refuses this `token` with status {status}."
            raise Refused(f"{wrong} {fix}", field="token", rule="a token that Label Studio accepts", fix=fix)
        if status == 404:
            fix = "check the number in the project's address."
            raise invalid("project", path, f"a project or task that exists on {self.url}", fix, error=Gone)
        if status == 204:
            return None
        if not 200 <= status < 300:
            raise unexpected("status", f"{status} {answer.text[:200]}", f"success of {path}")
        return _json(answer)


def _json(answer: httpx.Response) -> object:
    """The JSON of a response."""
    try:
        return answer.json()
    except (ValueError, RecursionError):
        raise unexpected("body", answer.text[:80], "JSON") from None


def _checked_token(token: str) -> str:
    """The token, if it can be sent in a header; errors never show it."""
    stripped = token.strip()
    if not stripped or not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        rule, fix = "letters and digits, no spaces", "Copy it from Account & Settings in Label Studio."
        raise InvalidInput(f"This `token` is not one of Label Studio: {rule}. {fix}", field="token", rule=rule, fix=fix)
    return stripped


def _retry_after(answer: httpx.Response, otherwise: float) -> float:
    """The seconds to wait by Retry-After, at most LONGEST_WAIT."""
    try:
        return min(max(float(answer.headers.get("Retry-After", otherwise)), 0.0), LONGEST_WAIT)
    except ValueError:  # a date
        return otherwise

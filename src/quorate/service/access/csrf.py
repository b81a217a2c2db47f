"""Another site must not act with a visitor's cookie: who asks is checked by origin and by a token only our pages know.

`principal` calls `check` for every unsafe request that a cookie authenticates, so no endpoint can forget it; requests
with an API key are exempt, because browsers do not add one by themselves. Forms that nobody is signed in for (links,
invitations) depend on `same_origin`. Pages put `csrf_token(request)` into a form field or the header X-CSRF-Token.
"""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from fastapi import Request

from quorate.service.access.cookies import cookie_name, session_id_of, signing_key_of
from quorate.service.access.request_context import config_of, is_secure, last_value
from quorate.service.access.tokens import token_for
from quorate.service.problems import Problem

HEADER = "X-CSRF-Token"
FIELD = "csrf_token"
SAFE = ("GET", "HEAD", "OPTIONS")
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def csrf_token(request: Request) -> str | None:
    """The token our pages send along; None when nobody is signed in."""
    session_id = session_id_of(request)
    return token_for(signing_key_of(request), session_id) if session_id else None


async def sent_token(request: Request) -> str | None:
    """The token that came with a request, in the header or in a form's field; a dependency."""
    token = request.headers.get(HEADER)
    if token is not None or request.method in SAFE or cookie_name(request) not in request.cookies:
        return token
    if request.headers.get("content-type", "").split(";")[0].strip().lower() not in FORMS:
        return None
    field = (await request.form()).get(FIELD)
    return field if isinstance(field, str) else None


def check(request: Request, session_id: str, token: str | None) -> None:
    """Raise 403 unless a request that a cookie authenticates comes from one of our own pages."""
    if request.method in SAFE:
        return
    same_origin(request)
    expected = token_for(signing_key_of(request), session_id)
    if not hmac.compare_digest(expected.encode(), (token or "").encode("utf-8", "replace")):
        raise Problem(
            403,
            "Not from our page",
            "the CSRF token is missing or belongs to another sign-in.",
            field=HEADER,
            rule=f"a request with a cookie carries the page's token in {HEADER} or in the form field {FIELD}",
            fix="Reload the page and try again; programs send an API key instead of a cookie.",
        )


def same_origin(request: Request) -> None:
    """Raise 403 for an unsafe request that a browser says comes from another site; a dependency."""
    if request.method in SAFE:
        return
    site = request.headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        raise _elsewhere("Sec-Fetch-Site", site)
    origin = request.headers.get("origin")
    if origin is not None and site is None and not _is_ours(request, origin):
        raise _elsewhere("Origin", origin[:200])


def _is_ours(request: Request, origin: str) -> bool:
    config = config_of(request.scope)
    try:
        scheme, host = urlsplit(origin)[:2]
    except ValueError:
        return False
    if not host or (is_secure(request.scope) and scheme != "https"):
        return False
    forwarded = last_value(request.scope, b"x-forwarded-host") if config.trust_proxy else None
    ours = {request.headers.get("host"), forwarded, urlsplit(config.base_url or "").netloc}
    return host.lower() in {name.lower() for name in ours if name}


def _elsewhere(header: str, value: str) -> Problem:
    return Problem(
        403,
        "Not from our page",
        f"the browser says that this request comes from another site ({header}: {value}).",
        field=header,
        value=value,
        rule="requests that change something come from this service's own pages",
        fix="Open the service's page and try again; behind a proxy, set the service's base URL.",
    )

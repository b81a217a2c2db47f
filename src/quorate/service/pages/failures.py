"""A problem -> a page, where a browser asked for a page; programs get it as JSON. Handed to `problems.install`.

Whoever is not signed in and opens a page is shown how to sign in. The API answers everybody in JSON.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from quorate.service.pages.rendering import environment
from quorate.service.pages.static_files import address

PAGES = ("/p/", "/new", "/join/", "/link/", "/sign-")


def error_page(request: Request, problem: dict[str, Any]) -> Response | None:
    """The problem as a page; None where JSON was asked for."""
    path = request.url.path
    if "text/html" not in request.headers.get("accept", "") or path == "/api" or path.startswith("/api/"):
        return None
    shown = {"problem": problem, "csrf": "", "me": None, "project": None, "note": None, "tab": "", "role": None}
    template = "problem.html"
    is_page = request.method in ("GET", "HEAD") and (path == "/" or path.startswith(PAGES))
    if is_page and problem["status"] == 401:  # the words of the start page, not those for programs
        template, shown["problem"] = "sign_in.html", None
    html = environment.get_template(template).render(shown | {"static": address, "path": path})
    return Response(html, problem["status"], media_type="text/html")

"""The owner's dashboard: how far, how cheap, how wrong at most, what the classifier is worth, who votes. Live.

The numbers are those of `deciding.stats`, computed off the request path; the page fetches its live part over and over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from quorate.reasons import SHORT
from quorate.service.access.surroundings import now_of, store_of
from quorate.service.api.here import Anyone, ProjectId, Viewer, projects_of
from quorate.service.deciding.broken_images import count_set_aside
from quorate.service.deciding.projects import Project, Projects
from quorate.service.deciding.stats import LIVE_SECONDS, latest_stats
from quorate.service.pages.charts import Line, bar, columns, line_chart
from quorate.service.pages.forecast import forecast
from quorate.service.pages.rendering import go, render

router = APIRouter(include_in_schema=False)
MOST_CLASSES = 12  # with a chart of their own


@router.get("/p/{project_id}")
def dashboard(request: Request, project_id: ProjectId, caller: Anyone) -> Response:
    """The dashboard; voters are sent to vote."""
    if caller.role == "voter":
        return go(f"/p/{project_id}/vote")
    return render(request, "dashboard.html", **_shown(request, project_id), me=caller.principal, role=caller.role)


@router.get("/p/{project_id}/live")
def live(request: Request, project_id: ProjectId, caller: Viewer) -> Response:
    """The part of the dashboard that changes."""
    return render(request, "dashboard_live.html", **_shown(request, project_id), role=caller.role)


def _shown(request: Request, project_id: str) -> dict[str, Any]:
    projects_, now = projects_of(request), now_of(request)
    with store_of(request).read() as connection:
        project = projects_.get_in(connection, project_id)
        numbers = latest_stats(connection, project, now=now)
        worth = _worth(projects_, project, numbers, connection)
        num_aside = count_set_aside(connection, project_id)
    votes = [hour["votes"] for hour in numbers["hours"]]
    hours = columns(votes, title=f"Votes in each of the last 24 hours, {max(votes):g} at most")
    return {
        "num_aside": num_aside,
        "project": project, "numbers": numbers, "worth": worth, "forecast": forecast(numbers), "hours": hours,
        "most_in_hour": max(votes), "bar": bar, "short": SHORT, "tab": "dashboard", "settings": project.settings,
        "live_seconds": LIVE_SECONDS,
    }  # fmt: skip


def _worth(projects_: Projects, project: Project, numbers: dict[str, Any], connection: Any) -> dict[str, Any]:  # noqa: ANN401
    """What the classifier is worth now, and how that came about: theta, phi, and tau for each class."""
    start = projects_.params(connection, project, 0)
    params = projects_.params(connection, project, project.learn_event) if numbers["learning"] else start
    past = [(project.created, start.theta, start.phi, start.tau)]
    past += [(fit["time"], fit["theta"], fit["phi"], fit["tau"]) for fit in numbers["learning"]]
    thetas, phis = [each[1] for each in past], [each[2] for each in past]
    taus = [np.atleast_2d(np.asarray(each[3], float)).mean(axis=0) for each in past]
    highest = max(float(np.max(taus)), 1e-9)
    classes = project.settings.shown_classes
    most = len(classes) if len(classes) == MOST_CLASSES + 1 else MOST_CLASSES  # one alone is named, not "1 more"
    by_class = [
        {
            "name": name, "now": float(taus[-1][index]),
            "svg": _curve(f"tau of {name}", [float(tau[index]) for tau in taus], 0, highest),
        }
        for index, name in enumerate(classes[:most])
    ]  # fmt: skip
    return {
        "theta": params.theta, "phi": params.phi, "num_fits": len(numbers["learning"]),
        "theta_svg": _curve("theta over time", thetas, 0, max(thetas)),
        "phi_svg": _curve("phi over time", phis, 1, max(phis)),
        "classes": by_class, "more": max(0, len(classes) - most),
        "last": past[-1][0] if numbers["learning"] else None,
    }  # fmt: skip


def _curve(title: str, values: list[float], colour: int, most: float) -> str:
    told = f"{title}: from {values[0]:.2f} to {values[-1]:.2f}"
    return line_chart([Line(title, colour, values)], title=told, most=1.05 * most)

"""The owner's dashboard, and the page for voters.

The dashboard shows progress, cost, how many answers can be wrong, the classifier's worth, a forecast. The voters' page,
and what it fetches, must not reveal predictions, other votes or decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from fastapi import APIRouter, Response
from sqlalchemy import Connection, func, select

from quorate.reasons import SHORT
from quorate_service.access.request_context import allow_images
from quorate_service.domain.listing import acts_of, count_set_aside
from quorate_service.domain.projects import Project, Projects
from quorate_service.domain.stats import LIVE_SECONDS, Stats, latest_stats
from quorate_service.domain.votes import UNDO_SECONDS
from quorate_service.label_studio.connections import connection_of
from quorate_service.pages.keys import keys_of, keys_told
from quorate_service.pages.rendering import (
    ChartLine,
    MemberVisit,
    ViewerVisit,
    Visit,
    VoterVisit,
    bar,
    columns,
    line_chart,
)
from quorate_service.store.schema import ballots

HOUR, SHORTEST = 3600.0, 60.0  # seconds; a pace is measured over at least a minute
PAUSE = 600.0  # without a vote for so long nobody is voting: there is no pace
FEWEST = 5  # closed items needed for a forecast
MOST_CLASSES = 12  # with an individual chart
WORDS = (10, 13, 16, 20)  # widths of button columns, in characters of the longest word


@dataclass(frozen=True, slots=True)
class VoteForecast:
    """`pace`: votes per hour, of the last hour, None while nobody votes; `votes_left` and `hours_left`: if known.

    `hours_left` is unknown, too, while items ask for more people than there are.
    """

    pace: float | None
    votes_left: float | None
    hours_left: float | None


def forecast(numbers: Stats) -> VoteForecast:
    """The pace of voting, and what is left at it."""
    last, is_voting = numbers.hours[-1], numbers.time - (numbers.last_vote or 0.0) < PAUSE
    pace = last["votes"] * HOUR / max(last["seconds"], SHORTEST) if is_voting else None
    if numbers.num_closed < FEWEST or numbers.votes_per_closed is None:
        return VoteForecast(pace, None, None)
    on_open = numbers.num_votes - numbers.votes_on_closed
    least = float(numbers.num_open)  # each open item needs at least one
    left = max(numbers.num_open * numbers.votes_per_closed - on_open, least) + numbers.votes_for_audits
    return VoteForecast(pace, left, left / pace if pace and not numbers.num_short else None)


router = APIRouter(include_in_schema=False)


@router.get("/p/{project_id}")
def dashboard(on: MemberVisit) -> Response:
    """The dashboard; voters are redirected to the voting page."""
    return on.go("vote") if on.caller.role in ("voter", "senior") else on.render("dashboard.html", **_shown(on))


@router.get("/p/{project_id}/live")
def live(on: ViewerVisit) -> Response:
    """The part of the dashboard that changes."""
    return on.render("dashboard_live.html", **_shown(on))


def _shown(on: Visit) -> dict[str, Any]:
    with on.store.read() as connection:
        project = on.projects.get_in(connection, on.project_id)
        numbers = latest_stats(connection, project, now=on.now)
        worth = _worth(on.projects, project, numbers, connection)
        num_aside = count_set_aside(connection, on.project_id)
        front_end = connection_of(connection, on.project_id)
    votes = [hour["votes"] for hour in numbers.hours]
    hours = columns(votes, title=f"Votes in each of the last 24 hours, {max(votes):g} at most")
    return {
        "num_aside": num_aside, "front_end": front_end, "now": on.now,
        "project": project, "numbers": numbers, "worth": worth, "forecast": forecast(numbers), "hours": hours,
        "most_in_hour": max(votes), "bar": bar, "short": SHORT, "tab": "dashboard", "settings": project.settings,
        "live_seconds": LIVE_SECONDS,
    }  # fmt: skip


def _worth(projects_: Projects, project: Project, numbers: Stats, connection: Connection) -> dict[str, Any]:
    """What the classifier is worth, now and over time: theta, phi, and tau for each class."""
    start = projects_.params(connection, project, 0)
    params = projects_.params(connection, project, project.learn_event) if numbers.learning else start
    past = [(project.created, start.theta, start.phi, start.tau)]
    past += [(fit["time"], fit["theta"], fit["phi"], fit["tau"]) for fit in numbers.learning]
    times, thetas, phis, weights = zip(*past, strict=True)
    taus = [np.atleast_2d(np.asarray(tau, float)).mean(axis=0) for tau in weights]
    highest = max(float(np.max(taus)), 1e-9)
    classes = project.settings.shown_classes
    by_class = [
        {
            "name": name, "now": float(taus[-1][index]),
            "svg": _curve(f"tau of {name}", [float(tau[index]) for tau in taus], 0, highest),
        }
        for index, name in enumerate(classes[:MOST_CLASSES])
    ]  # fmt: skip
    return {
        "theta": params.theta, "phi": params.phi, "num_fits": len(numbers.learning),
        "theta_svg": _curve("theta over time", thetas, 0, max(thetas)),
        "phi_svg": _curve("phi over time", phis, 1, max(phis)),
        "classes": by_class, "more": max(0, len(classes) - MOST_CLASSES),
        "last": times[-1] if numbers.learning else None,
    }  # fmt: skip


def _curve(title: str, values: Sequence[float], colour: int, most: float) -> str:
    description = f"{title}: from {values[0]:.2f} to {values[-1]:.2f}"
    return line_chart([ChartLine(title, colour, values)], title=description, most=1.05 * most)


@router.get("/p/{project_id}/vote")
def vote_page(on: VoterVisit) -> Response:
    """The voting page: one large item, buttons and keys; the next item is preloaded."""
    project = on.projects.get(on.project_id)
    allow_images(on.request, "https:", "http:")
    with on.store.read() as connection:
        is_new = acts_of(connection, on.project_id, on.me) == 0
    start = {
        "isNew": is_new,
        "project": project.id,
        "account": on.me,
        "undoSeconds": UNDO_SECONDS,
        "leaseSeconds": project.settings.lease_seconds,
        "state": project.state,
    }
    classes = project.settings.shown_classes
    keys = keys_of(project.settings.classes)  # of the classes, so that renaming one does not move its key
    shown = {
        "project": project, "start": start, "shape": _shape(classes),
        "classes": list(zip(project.settings.classes, classes, strict=True)), "keys": keys,
        "keys_told": keys_told(keys), "names_are_keys": keys == [name.lower() for name in classes],
        "own_keys": keys == [name.lower() for name in project.settings.classes],
        "instructions": on.instructions(project),
        "instructions_mark": sha256(project.settings.instructions.encode("utf-8", "replace")).hexdigest()[:16],
    }  # fmt: skip
    return on.render("vote.html", **shown)


def _shape(classes: Sequence[str]) -> str:
    """The CSS classes of the buttons' layout: short names five in a row, few long ones in a column, many in a box.

    Columns are at least as wide as the longest word, so that no word is broken.

    >>> _shape(["cat", "dog", "fox"]), _shape(["no finding", "cardiomegaly"])
    ('word-10 few three', 'word-13 few')
    """
    longest = max(map(len, classes))
    word = max(len(word) for name in classes for word in [*name.split(), ""])
    shape = [f"word-{next((size for size in WORDS if word <= size), 'more')}"]
    if len(classes) > 8:
        shape.append("many")
    if len(classes) < 5:
        shape += ["few", "three"] if len(classes) == 3 else ["few"]
    if len(classes) > 4 and longest <= 4:
        shape.append("short")
    if len(classes) < 5 and longest > 18:
        shape.append("one")
    return " ".join(shape)


@router.get("/p/{project_id}/vote/mine")
def votes_of_mine(on: VoterVisit, since: float) -> dict[str, int | str]:
    """The number of the visitor's votes since a time (midnight in their time zone), and the project's state."""
    mine = (ballots.c.project_id == on.project_id, ballots.c.voter == on.me)
    query = select(func.count()).where(*mine, ballots.c.kind == "vote", ballots.c.time >= since)
    with on.store.read() as connection:
        project = on.projects.get_in(connection, on.project_id)
        return {"votes": int(connection.execute(query).scalar_one()), "state": project.state}

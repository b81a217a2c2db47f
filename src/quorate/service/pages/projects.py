"""The pages for a new project and for settings, and the conversion between their form and `ProjectSettings`.

People write percentages, the method takes shares; one of four goals is chosen. Errors name the form's labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response

from quorate.catalogue import catalogue
from quorate.errors import InvalidInput, QuorateError
from quorate.service.access.accounts import enrol
from quorate.service.access.principal import Principal
from quorate.service.access.request_context import now_of, store_of
from quorate.service.api.dependencies import Creator, projects_of
from quorate.service.domain.settings import LOWEST_RATE, ProjectSettings, parameters_of, rule_for_people
from quorate.service.pages.formats import Fields, decimal, in_words_of_the_form, lines, number, share, whole_number
from quorate.service.pages.rendering import OwnerVisit, Visit, go, render, status_of
from quorate.service.problems import of_error
from quorate.validate import invalid

DEFAULT_METHOD = "value"
Given = TypeVar("Given", int, float)
GOALS = ("value", "threshold", "budget", "target_error")
NUMBERS = {goal: goal for goal in GOALS[1:]} | {"value": "error_price"}  # the field with a goal's number
USUAL = {"error_price": "200", "threshold": "95", "budget": "3", "target_error": "2"}  # shown for goals without one
LABELS = {
    "name": "Name",
    "state": "State",
    "classes": "What voters choose from",
    "models": "Classifiers",
    "display_names": "Names that voters see",
    "instructions": "Instructions for voters",
    "people": "How many people will vote?",
    "pool_size": "Experts in the pool",
    "min_votes": "Fewest votes per item",
    "max_votes": "Most votes per item",
    "audit_rate": "Audited share, %",
    "gold_share": "Gold items among those given out, %",
    "adjudicate_below": "A senior decides below this confidence, %",
    "lease_seconds": "Item reserved for a voter, s",
    "price": "Price of one vote",
    "currency": "Currency",
    "error_price": "One wrong answer is as bad as this many extra votes",
    "threshold": "Close an item as soon as its answer is this likely",
    "budget": "Spend this many votes per item on average, where they help most",
    "target_error": "Aim for at most this share of wrong answers; the audit shows whether it is held",
}
DISPLAY_NAME = "display_name_"  # prefix of a class's field; the number of the class follows
GOAL_WORDS = {
    "value": "asking while a vote is worth its cost",
    "threshold": "closing at a given confidence",
    "budget": "a budget of votes",
    "target_error": "a share of wrong answers",
}


def changes_of(fields: Mapping[str, str], *, before: ProjectSettings | None = None) -> dict[str, Any]:
    """The settings of a filled-in form; with `before`, the project's settings, only those that were changed.

    A field that is as the form showed it counts as unchanged, because the form may show fewer digits than are stored.

    >>> form = {"pool_size": "5", "goal": "threshold", "threshold": "95", "price": "", "audit_rate": "5"}
    >>> changes = changes_of(form)
    >>> changes["threshold"], changes["audit_rate"], changes["price"]
    (0.95, 0.05, 0.0)
    """
    shown = {} if before is None else as_form(before)
    touched = {name for name, text in fields.items() if before is None or _plain(text) != _plain(shown.get(name, ""))}
    goal = _plain(fields.get("goal", shown.get("goal", "value")))
    found = _goal_settings(fields, goal, before) if {"goal", NUMBERS.get(goal, "")} & touched else {}
    read: dict[str, Callable[[str], Any]] = {
        "max_votes": lambda name: whole_number(fields, name),
        "pool_size": lambda name: _given(whole_number(fields, name), name),
        "min_votes": lambda name: whole_number(fields, name) or 0,
        "price": lambda name: number(fields, name) or 0.0,
        "audit_rate": lambda name: _audit_rate(fields, name, before),
        "gold_share": lambda name: _given(share(fields, name), name),
        "adjudicate_below": lambda name: share(fields, name),
        "lease_seconds": lambda name: _given(number(fields, name), name),
        "currency": lambda name: _plain(fields[name]),
        "instructions": lambda name: _plain(fields[name]),
    }
    found |= {name: value(name) for name, value in read.items() if name in touched}
    if before is not None and any(name.startswith(DISPLAY_NAME) for name in touched):
        found["display_names"] = _display_names(fields, before)
    if goal == "target_error" and found.get("audit_rate", 0.0 if before is None else before.audit_rate) == 0:
        typed = fields.get("audit_rate", "0")
        raise invalid("audit_rate", typed, "more than 0 %: the chosen goal needs audits", "write e.g. 5.")
    return found


def _display_names(fields: Mapping[str, str], before: ProjectSettings) -> dict[str, str]:
    """The name to show for each class; an empty field means the class itself."""
    was = as_form(before)
    names = {name: f"{DISPLAY_NAME}{number}" for number, name in enumerate(before.classes)}
    typed = {name: fields.get(field, was[field]).strip() for name, field in names.items()}
    return {name: text for name, text in typed.items() if text}


def _goal_settings(fields: Mapping[str, str], goal: str, before: ProjectSettings | None) -> dict[str, Any]:
    """The settings that decide when to stop: the chosen goal, None for the others, the method with its parameter."""
    if goal not in GOALS:
        raise invalid("goal", goal, f"one of {', '.join(GOALS)}", "choose one.")
    method = DEFAULT_METHOD if before is None else before.method
    found: dict[str, Any] = {"threshold": None, "budget": None, "target_error": None}
    if goal != "value":
        found[goal] = _goal(fields, goal, before)
    if method.partition(":")[0].strip() == DEFAULT_METHOD:
        found["method"] = _with_parameters(_error_cost(fields) if goal == "value" else [], method)
    return found


def _plain(text: str) -> str:
    """The text with normalised line ends, as a form would show it."""
    return text.replace("\r\n", "\n").strip()


def _given(value: Given | None, name: str) -> Given:
    if value is None:
        raise invalid(name, "", "a number", "write one.")
    return value


def new_settings(fields: Mapping[str, str]) -> ProjectSettings:
    """The settings of a new project."""
    models = lines(fields, "models")
    fixed = {"classes": lines(fields, "classes"), **({"models": models} if models else {})}
    return ProjectSettings.from_json(changes_of(fields) | fixed)


def goals_of(settings: ProjectSettings) -> list[str]:
    """The goals that a project can change to; "value" also stands for the rule of a method other than the default.

    >>> goals_of(ProjectSettings(classes=["cat", "dog"], pool_size=5))
    ['value', 'budget', 'target_error']
    """
    audited, now = settings.audit_rate or 1.0, as_form(settings)["goal"]
    tries = {"value": 1.0, "threshold": 0.9, "budget": max(1.0, settings.min_votes), "target_error": 0.1}
    return [goal for goal, value in tries.items() if goal == now or _can_change(settings, goal, value, audited)]


def why_not_all(settings: ProjectSettings) -> str | None:
    """A sentence on which goals are not offered, and why; None if all are.

    >>> why_not_all(ProjectSettings(classes=["cat", "dog"], pool_size=5))
    'Not available here: closing at a given confidence. This project stops by the value of a vote, and past decisions \
rely on that; start a new project to use another rule.'
    """
    missing = [GOAL_WORDS[goal] for goal in GOALS if goal not in goals_of(settings)]
    if not missing:
        return None
    parameters = parameters_of(settings)
    name = settings.chosen_method().name
    rule = (
        "the value of a vote" if "error_cost" in parameters else "the confidence" if "threshold" in parameters else None
    )
    why = f"This project stops by {rule}" if rule else f"This project's method, {name}, has its own rule"
    if rule and "threshold" in parameters and settings.threshold is None:
        why = f"This project's method sets its own threshold ({settings.method})"
    return (
        f"Not available here: {', '.join(missing)}. {why}, and past decisions rely on that; "
        "start a new project to use another rule."
    )


def method_told(settings: ProjectSettings) -> dict[str, str]:
    """The project's method for display: its name, what it does, and the parameters that the form has no field for.

    >>> told = method_told(ProjectSettings(classes=["cat", "dog"], pool_size=5, method="value:error_cost=100"))
    >>> told["name"], told["parameters"]
    ('value', '')
    """
    chosen = settings.chosen_method()
    sentence = next((entry.sentence for entry in catalogue() if entry.name == chosen.name), "")
    return {"name": chosen.name, "sentence": sentence, "parameters": ", ".join(_kept_parameters(settings.method))}


def _can_change(settings: ProjectSettings, goal: str, value: float, audit_rate: float) -> bool:
    changes: dict[str, Any] = {"threshold": None, "budget": None, "target_error": None, "audit_rate": audit_rate}
    if goal != "value":
        changes[goal] = value
    if settings.method.partition(":")[0].strip() == DEFAULT_METHOD:
        changes["method"] = _with_parameters([], settings.method)
    try:
        settings.changed(**changes)
    except InvalidInput:
        return False
    return True


def as_form(settings: ProjectSettings) -> dict[str, str]:
    """The settings as texts for the form."""
    parameters = settings.chosen_method().parameters
    is_default = settings.method.partition(":")[0].strip() == DEFAULT_METHOD
    threshold = settings.threshold if settings.threshold is not None or not is_default else parameters.get("threshold")
    goals = {"threshold": threshold, "budget": settings.budget, "target_error": settings.target_error}
    numbers = {name: value if name == "budget" else 100 * value for name, value in goals.items() if value is not None}
    cost = parameters.get("error_cost")
    shown = {
        "goal": next(iter(numbers), "value"),
        "audit_rate": decimal(100 * settings.audit_rate, 3),
        "gold_share": decimal(100 * settings.gold_share, 3),
        "adjudicate_below": ("" if settings.adjudicate_below is None else decimal(100 * settings.adjudicate_below, 3)),
        "classes": "\n".join(settings.classes),
        "models": "\n".join(settings.models),
        "max_votes": "" if settings.max_votes is None else str(settings.max_votes),
    }
    shown |= USUAL | {name: decimal(value, 3) for name, value in numbers.items()}
    shown |= {"error_price": decimal(cost, 6)} if cost else {}
    plain = ("pool_size", "min_votes", "currency", "instructions")
    timed = ("price", "lease_seconds")
    shown |= {name: str(getattr(settings, name)) for name in plain}
    shown |= {name: decimal(getattr(settings, name), 4) for name in timed}
    names = [settings.display_names.get(name, "") for name in settings.classes]
    shown |= {f"{DISPLAY_NAME}{number}": name for number, name in enumerate(names)}
    return shown | ({} if settings.price else {"price": ""})


def _with_parameters(shown: list[str], method: str) -> str:
    """The default method with the form's parameters, and those of the project's `method` that the form lacks."""
    parameters = [*shown, *_kept_parameters(method)]
    return DEFAULT_METHOD + (f":{','.join(parameters)}" if parameters else "")


def _kept_parameters(method: str) -> list[str]:
    """The parameters in a method's text that the form has no field for."""
    name, _, written = method.partition(":")
    by_form = ("error_cost",) if name.strip() == DEFAULT_METHOD else ()
    parts = [part.strip() for part in written.split(",") if part.strip()]
    return [part for part in parts if part.partition("=")[0].strip() not in by_form]


def _error_cost(fields: Mapping[str, str]) -> list[str]:
    """`error_cost` is the form's `error_price`, the number of votes that an error costs."""
    price = number(fields, "error_price")
    if price is None:
        return []
    if not (price > 0 and math.isfinite(price)):
        fix = "raise it, or leave it empty for the default."
        raise invalid("error_price", fields["error_price"], "a number of votes above 0", fix)
    return [f"error_cost={price:.12g}"]


def _goal(fields: Mapping[str, str], goal: str, before: ProjectSettings | None) -> float:
    """The number of the chosen goal: votes, or a percentage as a share."""
    if goal == "budget":
        found = number(fields, goal)
    elif goal == "threshold":
        num_classes = len(lines(fields, "classes") if before is None else before.classes)
        why = f" (1 / {num_classes} classes; otherwise every item would close without a vote)"
        found = share(fields, goal, above=100 / num_classes if num_classes > 1 else 0.0, why=why)
    else:
        found = share(fields, goal, above=0.0)
    if found is None:
        raise invalid(goal, None, "a number for the chosen goal", "write one, or choose another goal.")
    return found


def _audit_rate(fields: Mapping[str, str], name: str, before: ProjectSettings | None) -> float:
    rate = float(_given(share(fields, name), name))
    if before is not None and rate < before.audit_rate:
        rule = f"at least {decimal(100 * before.audit_rate, 3)} %: {LOWEST_RATE}"
        raise invalid(name, fields[name], rule, "raise it, or start a new project.")
    return rate


router = APIRouter(include_in_schema=False)
BLANK = as_form(ProjectSettings(classes=("cat", "dog"), pool_size=5)) | {"classes": "", "models": "", "name": ""}
BLANK |= {"people": ""}


@router.get("/new")
def new_page(request: Request, caller: Creator) -> Response:
    """An empty form."""
    return _new(request, caller, BLANK)


@router.post("/new")
def create(request: Request, caller: Creator, fields: Fields) -> Response:
    """Create the project; the visitor becomes its owner."""
    now, me = now_of(request), caller.account_id
    try:
        settings = new_settings(fields)
        _check_people(fields, settings.pool_size)
        with store_of(request).write() as connection:
            made = projects_of(request).create_in(connection, fields.get("name", ""), settings, by=me, now=now)
            enrol(connection, made.id, me, role="owner", by=me, now=now)
    except QuorateError as error:
        return _new(request, caller, BLANK | fields, in_words_of_the_form(of_error(error).body(), fields, LABELS))
    return go(f"/p/{made.id}", "created")


def _check_people(fields: dict[str, str], pool_size: int) -> None:
    """Refuse a pool larger than the number of people, as items may never close, unless the owner wants it."""
    people = whole_number(fields, "people")
    if people is not None and people < pool_size and "keep_pool" not in fields:
        raise invalid(
            "pool_size",
            pool_size,
            rule_for_people(people),
            f"write {max(people, 1)}, or tick that more people come later.",
        )


def _new(request: Request, caller: Principal, form: dict[str, str], problem: dict[str, Any] | None = None) -> Response:
    return render(request, "new.html", status_of(problem), me=caller, form=form, labels=LABELS, problem=problem)


@router.get("/p/{project_id}/settings")
def settings_page(on: OwnerVisit) -> Response:
    """The current settings."""
    return _settings(on, {})


@router.post("/p/{project_id}/settings")
def change(on: OwnerVisit, fields: Fields) -> Response:
    """Change settings that may change."""
    try:
        changes = changes_of(fields, before=on.projects.get(on.project_id).settings)
        named = {"name": fields.get("name"), "state": fields.get("state"), "by": on.me}
        on.projects.change(on.project_id, **named, now=on.now, **changes)
    except QuorateError as error:
        return _settings(on, fields, in_words_of_the_form(of_error(error).body(), fields, LABELS))
    return on.go("settings", "saved")


def _settings(on: Visit, form: dict[str, str], problem: dict[str, Any] | None = None) -> Response:
    project = on.projects.get(on.project_id)
    texts = BLANK | as_form(project.settings) | {"name": project.name} | form
    shown = {"project": project, "form": texts, "problem": problem, "tab": "settings", "labels": LABELS}
    shown |= {"method": method_told(project.settings), "goals": goals_of(project.settings)}
    return on.render("settings.html", status_of(problem), **shown, why_not_all=why_not_all(project.settings))

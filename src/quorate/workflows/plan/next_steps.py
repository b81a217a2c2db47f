"""What to type to use a `Plan`: a command for recorded votes, a line of Python, the settings of a project.

Called by the methods of `Plan` and by `plan.report`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate.decision.policy import Stateless
from quorate.decision.quota import QuotaPolicy
from quorate.methods import Method, method
from quorate.tables.predictions.read import named_sources
from quorate.tables.readers.open_files import ending_of
from quorate.workflows.inputs import PredictionSources

if TYPE_CHECKING:
    from quorate.workflows.plan import Plan


_ENDINGS = {".npy": ".npz", ".npz": ".npz", ".json": ".json", ".jsonl": ".jsonl"}  # may hold several classifiers
MOST_NAMED = 12  # more classes or people are not written out in a line


def uses(plan: Plan) -> dict[str, str]:
    """Each way to use the setting: where, and what to type there; where names are worth knowing, the same with them."""
    found = {"On recorded votes": command(plan)}
    session, project = session_code(plan), project_settings(plan)
    if session is not None:
        found["In Python, as votes come in"] = session
    if project is not None:
        found["In the service, when a project is made by the API"] = json.dumps(project, ensure_ascii=False)
    by_name = method_by_name(plan)
    if by_name is not None:
        found["With the experts' names, on recorded votes"] = command(plan, by_name)
        session = session_code(plan, by_name)
        if session is not None:
            found["With the experts' names, in Python"] = session
    return found


def method_by_name(plan: Plan) -> Method | None:
    """The method that knows people, where it is clearly better than the setting advised, which does not."""
    if plan.people is None or not plan.people.is_clear or plan.advice.setting.method.needs_people:
        return None
    setting = plan.people.first.setting
    return None if setting is None else method(setting)


def session_code(plan: Plan, other: Method | None = None) -> str | None:
    """The line of Python that begins a session with the setting, or with another method.

    None where sessions cannot: with costs of errors.
    """
    if plan.pilot.error_costs is not None:
        return None
    chosen, classes = other or plan.advice.setting.method, plan.pilot.dataset.classes
    parameters = "".join(f", {key}={value!r}" for key, value in _turned(chosen).items())
    named = repr(list(classes)) if len(classes) <= MOST_NAMED else "CLASSES"
    several = len(plan.pilot.dataset.predictions)
    more = f", num_classifiers={several}" if several > 1 else ""
    pool = _pool_code(plan, chosen)
    return f"session = quorate.Session(quorate.method({chosen.name!r}{parameters}), classes={named}, {pool}{more})"


def _pool_code(plan: Plan, chosen: Method) -> str:
    """The pool as arguments of a session: its size, and the people of the pilot where the method knows them."""
    size = f"pool_size={plan.pilot.pool_size or plan.pilot.largest}"
    if not chosen.needs_people:
        return size
    people = _people_code(plan)
    return people if chosen.asking.posterior == "panel" else f"{size}, {people}"


def _people_code(plan: Plan) -> str:
    if len(plan.voters) > MOST_NAMED:
        return "experts=EXPERTS"
    costs = plan.pilot.voter_costs or (1.0,) * len(plan.voters)
    people = zip(plan.voters, costs, strict=True)
    return f"experts=[{', '.join(f'quorate.Expert({name!r}, cost={cost!r})' for name, cost in people)}]"


def project_settings(plan: Plan) -> dict[str, Any] | None:
    """Settings of a project of the service; None where it cannot: costs of errors, a method that remembers or knows."""
    chosen = plan.advice.setting.method
    is_ours = isinstance(chosen.policy, (Stateless, QuotaPolicy)) and not chosen.needs_people
    if plan.pilot.error_costs is not None or not is_ours:
        return None
    price = {} if plan.price is None else {"price": plan.price}
    return {"method": spec(chosen), "pool_size": plan.pilot.pool_size or plan.pilot.largest, **price}


def command(plan: Plan, other: Method | None = None) -> str:
    """The `quorate run` that uses the setting, or another method, on the next batch.

    Only its tables and its folder have made-up names.
    """
    chosen = other or plan.advice.setting.method
    parts = ["quorate", "run", "--votes", "next-votes.csv"]
    for name in plan.prediction_files:
        parts += ["--predictions", name]
    parts += ["--method", spec(chosen)]
    if plan.one_order and not chosen.needs_people:
        parts += ["--order", "shuffled"]
    if plan.pilot.pool_size is not None:
        parts += ["--pool-size", str(plan.pilot.pool_size)]
    if plan.pilot.error_costs is not None:
        parts += ["--error-costs", "error-costs.csv"]
    if plan.pilot.target == "truth":
        parts += ["--target", "truth"]
    if plan.price is not None:
        parts += ["--price", f"{plan.price:g}"]
    if plan.pilot.voter_costs is not None:
        parts += ["--costs", "costs.csv"]
    return shlex.join([*parts, *plan.columns.in_shell(), "--out", plan.next_folder])


def free_folder(out: str | Path | None) -> str:
    """A folder for the next run that is not there yet and is not `out`, where the plan itself is written."""
    names = ("next-results", *(f"next-results-{number}" for number in range(2, 1000)))
    return next((name for name in names if not Path(name).exists() and Path(name) != Path(out or ".")), names[0])


def prediction_files(sources: PredictionSources, models: Sequence[str]) -> tuple[str, ...]:
    """Made-up names of the next predictions, one per source in the order of the pilot's, no two alike.

    `sources` as `read_predictions` takes them; None: the pilot's data have `models` of their own.

    >>> prediction_files("net.csv", ["net"]), prediction_files("nets.npz", ["a", "b"]), prediction_files(None, [])
    (('next-predictions.csv',), ('next-predictions.npz',), ())
    >>> prediction_files(["old/net.csv", "new/net.csv"], ["net", "net-2"]), prediction_files(None, ["net", "my forest"])
    (('next-net.csv', 'next-net-2.csv'), ('next-net.csv', 'next-my forest.csv'))
    """
    if not models:
        return ()
    pairs = named_sources(sources if sources is not None else {model: model for model in models})
    files: list[str] = []
    for number, (name, source) in enumerate(pairs):
        file = Path(source) if isinstance(source, (str, Path)) else None
        ending = ".csv" if file is None or sources is None else _ENDINGS.get(ending_of(file), ".csv")
        if getattr(source, "ndim", 2) == 3:
            ending = ".npz"
        named = name or (f"model-{number}" if file is None else file.name.split(".")[0])
        stem = "next-predictions" if len(pairs) == 1 else f"next-{Path(named).name}"
        again = (f"{stem}{more}{ending}" for more in ("", *(f"-{count}" for count in range(2, len(pairs) + 2))))
        files.append(next(each for each in again if each.casefold() not in map(str.casefold, files)))
    return tuple(files)


def spec(chosen: Method) -> str:
    """The method as the command line takes it, every digit of its parameters."""
    parameters = ",".join(f"{key}={value}" for key, value in _turned(chosen).items())
    return ":".join(filter(None, [chosen.name, parameters]))


def _turned(chosen: Method) -> dict[str, Any]:
    """The parameters to write down; how it learns, and by which rule it asks, only where that is not the default."""
    default = method(chosen.name).parameters
    return {
        key: value
        for key, value in chosen.parameters.items()
        if isinstance(value, (bool, int, float, str)) and (value != default.get(key) or key != "hyperprior")
    }

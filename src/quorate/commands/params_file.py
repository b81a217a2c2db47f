"""params.json: the learned parameters with classes, models and method; `write_params` and `read_params`.

Written by `quorate run`, read by `quorate score`. Reading is strict: every field is checked, nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import InvalidInput, UnknownMethod
from quorate.files import write_atomic
from quorate.methods import FIELDS as PARTS
from quorate.methods import Method, method_data, method_from, own_parts, policy_parameters, require_anonymous
from quorate.model import DEFAULT_ERROR_COST, ErrorCosts
from quorate.session import tuned
from quorate.tables import read_error_cost
from quorate.types import PriorParams
from quorate.validate import bounded, class_names, invalid, members, vote_limits, whole
from quorate.version import __version__

FORMAT = "quorate-params"
VERSION = 3
FIELDS = (
    "format", "version", "classes", "models", "theta", "phi", "tau", "bias", "method", "pool_size",
    "error_cost", "pool_rule", "fitted_after", "answers_proved", "min_votes", "max_votes", "abstain_labels",
    "quorate",
)  # fmt: skip
POOL_RULES = ("given", "largest-recorded")
WRITE_IT = "write it with quorate run"


@dataclass(frozen=True, slots=True, eq=False)
class ParamsFile:
    """The content of a params.json.

    `params` theta, phi, tau (K,) or (M, K), bias   `classes` K names, in the order of tau   `models` M names
    `described` everything that defines the method (`method_data`)
    `pool_size` N   `fitted_after` how many items had been seen   `quorate` the version that wrote it
    `answers_proved` whether `params` answer items without votes, or the classifier alone does (`learning.answers`)
    `pool_rule` "given", or "largest-recorded": the pools of the run were the recorded votes, and N is the largest pool
    `min_votes`, `max_votes` of an item   `costs` of errors by truth and answer, or None
    `abstain_labels` labels of votes that mean no answer
    """

    params: PriorParams
    classes: tuple[str, ...]
    models: tuple[str, ...]
    described: Mapping[str, Any]
    pool_size: int
    fitted_after: int
    answers_proved: bool = True
    quorate: str = __version__
    pool_rule: str = "given"
    min_votes: int = 0
    max_votes: int | None = None
    costs: ErrorCosts | None = None
    abstain_labels: tuple[str, ...] = ()

    def method(self) -> Method:
        """The method, built from its parts; one with a part of your own cannot be built from a file."""
        return replace(require_anonymous(method_from(self.described)), costs=self.costs)

    def with_error_cost(self, cost: float | ErrorCosts) -> ParamsFile:
        """The same with another cost of errors: a number, or costs by truth and answer."""
        chosen, costs = self.method(), cost if isinstance(cost, ErrorCosts) else None
        if costs is None or "error_cost" in policy_parameters(chosen):
            chosen = tuned(chosen, {"error_cost": DEFAULT_ERROR_COST if costs is not None else cost})
        return replace(self, described=method_data(chosen), costs=costs)


def write_params(
    path: str | Path,
    params: PriorParams,
    *,
    classes: Sequence[str],
    models: Sequence[str],
    method: Method,
    pool_size: int,
    fitted_after: int,
    answers_proved: bool = True,
    pool_rule: str = "given",
    min_votes: int = 0,
    max_votes: int | None = None,
    abstain_labels: Sequence[str] = (),
) -> Path:
    """Write params.json atomically; numbers are written with every digit.

    >>> import tempfile
    >>> import quorate
    >>> params = PriorParams(theta=4, phi=0.5, tau=[1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_params(f"{folder}/params.json", params, classes=["cat", "dog"], models=["net"],
    ...                         method=quorate.method("infexp"), pool_size=6, fitted_after=120)
    ...     read_params(path).method().policy
    Threshold(threshold=0.95)
    """
    content = {
        "format": FORMAT,
        "version": VERSION,
        "classes": list(classes),
        "models": list(models),
        "theta": params.theta,
        "phi": params.phi,
        "tau": np.atleast_2d(params.tau).tolist(),
        "bias": None if params.bias is None else params.bias.tolist(),
        "method": method_data(method),
        "error_cost": None if method.costs is None else method.costs.by_name(list(classes)),
        "pool_size": pool_size,
        "pool_rule": pool_rule,
        "fitted_after": fitted_after,
        "answers_proved": answers_proved,
        "min_votes": min_votes,
        "max_votes": max_votes,
        "abstain_labels": list(abstain_labels),
        "quorate": __version__,
    }
    parsed(content, where="params")
    return write_atomic(Path(path), json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_params(path: str | Path) -> ParamsFile:
    """A params.json, every field checked; an unknown version is refused."""
    file = Path(path)
    if not file.is_file():
        raise invalid("params", str(path), "a file", f"{WRITE_IT} and name its params.json.")
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as cause:
        raise invalid("params", str(path), f"JSON in UTF-8 ({cause})", f"{WRITE_IT}.") from cause
    return parsed(content, where=str(path))


def parsed(content: object, *, where: str) -> ParamsFile:
    """The content of a params.json, checked; `where` names it in errors."""
    try:
        return _parsed(_checked_kind(content))
    except (InvalidInput, UnknownMethod) as problem:
        problem.place = where
        raise


def _parsed(content: Mapping[str, Any]) -> ParamsFile:
    if not isinstance(content["classes"], list):
        raise invalid("classes", content["classes"], "a list of names", f"{WRITE_IT}.")
    classes, models = class_names(content["classes"]), _names(content["models"], "models")
    rule, least, most, labels = (content[name] for name in ("pool_rule", "min_votes", "max_votes", "abstain_labels"))
    if rule not in POOL_RULES:
        raise invalid("pool_rule", rule, f"one of {', '.join(POOL_RULES)}", f"{WRITE_IT}.")
    proved = content["answers_proved"]
    if type(proved) is not bool:
        raise invalid("answers_proved", proved, "true or false", f"{WRITE_IT}.")
    least = whole(least, where="min_votes", least=0)
    most = None if most is None else whole(most, where="max_votes", least=0)
    vote_limits(least, most)
    return ParamsFile(
        params=_prior(content, len(models), len(classes)),
        classes=classes,
        models=models,
        described=_described(content["method"]),
        pool_size=members(content["pool_size"]),
        fitted_after=whole(content["fitted_after"], where="fitted_after", least=0),
        answers_proved=proved,
        quorate=_text(content["quorate"], "quorate"),
        pool_rule=rule,
        min_votes=least,
        max_votes=most,
        costs=_costs(content["error_cost"], classes),
        abstain_labels=() if labels == [] else _names(labels, "abstain_labels"),
    )


def _checked_kind(content: object) -> Mapping[str, Any]:
    """The content, if it has our format, a known version and exactly its fields."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        field, value = ("format", content.get("format")) if isinstance(content, dict) else ("params", content)
        raise invalid(field, value, f'an object with "format": "{FORMAT}"', f"{WRITE_IT}.")
    version = content.get("version")
    if type(version) is not int or version != VERSION:
        raise invalid("version", version, f"{VERSION}, which quorate {__version__} reads", f"{WRITE_IT}.")
    odd = [name for name in FIELDS if name not in content] + [name for name in content if name not in FIELDS]
    if odd:
        raise invalid(odd[0], content.get(odd[0]), f"exactly the fields {', '.join(FIELDS)}", f"{WRITE_IT}.")
    return content


def _costs(table: object, classes: tuple[str, ...]) -> ErrorCosts | None:
    if table is None:
        return None
    costs = read_error_cost(table, classes) if isinstance(table, dict) else None
    if not isinstance(costs, ErrorCosts):
        raise invalid("error_cost", table, "costs by truth and answer, not all the same", f"{WRITE_IT}.")
    return costs


def _prior(content: Mapping[str, Any], num_models: int, num_classes: int) -> PriorParams:
    theta, phi = (bounded(content[name], where=name, least=0.0) for name in ("theta", "phi"))
    rows = _table(content["tau"], num_models, num_classes, "tau")
    bias = content["bias"]
    if bias is not None:
        bias = _numbers(bias, num_classes, "bias", least=-np.finfo(float).max)
    return PriorParams(theta, phi, np.array(rows[0] if num_models == 1 else rows), bias)


def _table(rows: object, num_rows: int, num_classes: int, field: str) -> list[list[float]]:
    """Rows of numbers, none below 0."""
    if not isinstance(rows, list) or len(rows) != num_rows:
        raise invalid(field, rows, f"{num_rows} lists of {num_classes} numbers", f"{WRITE_IT}.")
    return [_numbers(row, num_classes, f"{field}[{number}]", least=0.0) for number, row in enumerate(rows)]


def _numbers(values: object, count: int, field: str, *, least: float) -> list[float]:
    if not isinstance(values, list) or len(values) != count:
        raise invalid(field, values, f"a list of {count} numbers, as many as classes", f"{WRITE_IT}.")
    return [bounded(value, where=f"{field}[{number}]", least=least) for number, value in enumerate(values)]


def _described(content: object) -> dict[str, Any]:
    """What defines the method: exactly its fields. Parts of this library must take their values."""
    if not isinstance(content, dict) or set(content) != set(PARTS):
        raise invalid("method", content, f"a method with {', '.join(PARTS)}", f"{WRITE_IT}.", error=UnknownMethod)
    try:
        if not own_parts(content):
            method_from(content)
    except (KeyError, TypeError) as cause:
        rule = f"a method as quorate writes it ({cause})"
        raise invalid("method", content, rule, f"{WRITE_IT}.", error=UnknownMethod) from cause
    return dict(content)


def _names(values: object, field: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not values:
        raise invalid(field, values, "a list of at least one name", f"{WRITE_IT}.")
    names = tuple(_text(value, field) for value in values)
    if len(set(names)) != len(names):
        raise invalid(field, values, "each name once", "rename one.")
    return names


def _text(value: object, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise invalid(field, value, "a text that is not empty", f"{WRITE_IT}.")
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field occurs twice")
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")

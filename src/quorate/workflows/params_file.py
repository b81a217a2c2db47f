"""What was learned, as a file: parameters, classes, models and method out to params.json (`write_params`) and in again.

Written by `quorate run`, read by `quorate score`. Reading is strict: every field is checked, nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import InvalidInput, UnknownMethod
from quorate.files import write_atomic
from quorate.methods import METHODS, Method, method
from quorate.types import FloatArray, PriorParams, frozen_array
from quorate.validate import bounded, class_names, fraction, members, shown, vote_limits, whole
from quorate.version import __version__

FORMAT = "quorate-params"
VERSION = 2
READABLE = (1, 2)
POSTERIORS = ("finite", "infinite", "vote_share")
FIELDS = (
    "format", "version", "classes", "models", "posterior", "theta", "phi", "tau", "bias", "method", "pool_size",
    "pool_rule", "fitted_after", "min_votes", "max_votes", "error_costs", "accuracy", "abstain_labels", "quorate",
)  # fmt: skip
SINCE_2 = ("pool_rule", "min_votes", "max_votes", "error_costs", "accuracy", "abstain_labels")
POOL_RULES = ("given", "largest-recorded")
HARD_LABEL_ACCURACY = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class ParamsFile:
    """What a params.json says.

    `params` theta, phi, tau (K,) or (M, K), bias   `classes` K names, in the order of tau   `models` M names
    `posterior` "finite", "infinite" or "vote_share": the belief that predicts   `name`, `knobs` of the method
    `pool_size` N   `fitted_after` how many items had been seen   `quorate` the version that wrote it
    `pool_rule` "given", or "largest-recorded": N of the run was the votes recorded for each item, and this the largest
    `min_votes`, `max_votes` of an item   `error_costs` (K, K) by truth and answer, or None
    `accuracy` how sure a hard label was taken to be   `abstain_labels` labels of votes that mean no answer
    """

    params: PriorParams
    classes: tuple[str, ...]
    models: tuple[str, ...]
    posterior: str
    name: str
    pool_size: int
    fitted_after: int
    knobs: Mapping[str, Any] = field(default_factory=dict)
    quorate: str = __version__
    pool_rule: str = "given"
    min_votes: int = 0
    max_votes: int | None = None
    error_costs: FloatArray | None = None
    accuracy: float = HARD_LABEL_ACCURACY
    abstain_labels: tuple[str, ...] = ()

    def method(self) -> Method:
        """The method, built from its name and knobs."""
        if self.name not in METHODS:
            raise UnknownMethod(
                f"method {self.name!r} cannot be built from a file; expected one of {', '.join(METHODS)}: a policy of "
                "your own lives in your code. Score with another method, or decide through quorate.Session."
            )
        return method(self.name, **self.knobs)


def write_params(
    path: str | Path,
    params: PriorParams,
    *,
    classes: Sequence[str],
    models: Sequence[str],
    method: Method,
    pool_size: int,
    fitted_after: int,
    pool_rule: str = "given",
    min_votes: int = 0,
    max_votes: int | None = None,
    error_costs: FloatArray | None = None,
    accuracy: float = HARD_LABEL_ACCURACY,
    abstain_labels: Sequence[str] = (),
) -> Path:
    """Write params.json, whole or not at all; numbers are written so that they are read back exactly.

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
        "posterior": method.predicting.posterior,
        "theta": params.theta,
        "phi": params.phi,
        "tau": np.atleast_2d(params.tau).tolist(),
        "bias": None if params.bias is None else params.bias.tolist(),
        "method": method.describe(),
        "pool_size": pool_size,
        "pool_rule": pool_rule,
        "fitted_after": fitted_after,
        "min_votes": min_votes,
        "max_votes": max_votes,
        "error_costs": None if error_costs is None else np.asarray(error_costs).tolist(),
        "accuracy": accuracy,
        "abstain_labels": list(abstain_labels),
        "quorate": __version__,
    }
    parsed(content, where="params")
    return write_atomic(Path(path), json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_params(path: str | Path) -> ParamsFile:
    """A params.json, every field checked; an unknown version is refused."""
    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"params={str(path)!r} is not a file; name the params.json that `quorate run` wrote.")
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as cause:
        raise InvalidInput(
            f"params={str(path)!r} is not JSON in UTF-8 ({cause}); write it with `quorate run`."
        ) from cause
    return parsed(content, where=str(path))


def parsed(content: Any, *, where: str) -> ParamsFile:  # noqa: ANN401
    """The content of a params.json, checked; `where` names it in messages."""
    _check_kind(content, where)
    classes = _each(content["classes"], class_names, f"{where}: classes")
    models = _names(content["models"], f"{where}: models")
    posterior = content["posterior"]
    if posterior not in POSTERIORS:
        raise InvalidInput(f"{where}: posterior={shown(posterior)}; expected one of {', '.join(POSTERIORS)}.")
    name, knobs = _method(content["method"], where)
    found = ParamsFile(
        params=_prior(content, len(models), len(classes), where),
        classes=classes,
        models=models,
        posterior=posterior,
        name=name,
        knobs=knobs,
        pool_size=members(content["pool_size"], where=f"{where}: pool_size"),
        fitted_after=whole(content["fitted_after"], where=f"{where}: fitted_after", least=0),
        quorate=_text(content["quorate"], f"{where}: quorate"),
        **(_since_2(content, classes, where) if content["version"] > 1 else {}),
    )
    if name in METHODS and found.method().predicting.posterior != posterior:
        says = found.method().predicting.posterior
        raise InvalidInput(
            f"{where}: posterior={posterior!r}, but method {name!r} predicts with {says!r}; expected the same in both."
        )
    return found


def _check_kind(content: Any, where: str) -> None:  # noqa: ANN401
    """Our format, a version we know, and exactly its fields."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInput(
            f'{where} is not a params.json: expected an object with "format": "{FORMAT}"; write it with `quorate run`.'
        )
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version not in READABLE:
        raise InvalidInput(
            f"{where}: version={shown(version)}; this quorate ({__version__}) reads versions "
            f"{', '.join(map(str, READABLE))}; install the quorate that wrote it, or write it again."
        )
    fields = FIELDS if version > 1 else tuple(name for name in FIELDS if name not in SINCE_2)
    missing = [name for name in fields if name not in content]
    unknown = [name for name in content if name not in fields]
    if missing or unknown:
        problem = f"has no {missing[0]!r}" if missing else f"has an unknown field {unknown[0]!r}"
        raise InvalidInput(f"{where} {problem}; expected exactly {', '.join(fields)}; write it with `quorate run`.")


def _since_2(content: Mapping[str, Any], classes: tuple[str, ...], where: str) -> dict[str, Any]:
    """The fields that version 1 did not have."""
    rule, least, most, labels = (content[name] for name in ("pool_rule", "min_votes", "max_votes", "abstain_labels"))
    if rule not in POOL_RULES:
        raise InvalidInput(f"{where}: pool_rule={shown(rule)}; expected one of {', '.join(POOL_RULES)}.")
    least = whole(least, where=f"{where}: min_votes", least=0)
    most = None if most is None else whole(most, where=f"{where}: max_votes", least=0)
    vote_limits(least, most)
    return {
        "pool_rule": rule,
        "min_votes": least,
        "max_votes": most,
        "error_costs": _error_costs(content["error_costs"], len(classes), f"{where}: error_costs"),
        "accuracy": fraction(content["accuracy"], where=f"{where}: accuracy"),
        "abstain_labels": () if labels == [] else _names(labels, f"{where}: abstain_labels"),
    }


def _error_costs(rows: Any, num_classes: int, where: str) -> FloatArray | None:  # noqa: ANN401
    if rows is None:
        return None
    if not isinstance(rows, list) or len(rows) != num_classes:
        raise InvalidInput(f"{where}={shown(rows)}; expected null or {num_classes} lists, a row per truth.")
    costs = [_numbers(row, num_classes, f"{where}[{number}]", least=0.0) for number, row in enumerate(rows)]
    return np.asarray(frozen_array(np.array(costs)))


def _prior(content: Mapping[str, Any], num_models: int, num_classes: int, where: str) -> PriorParams:
    theta, phi = (bounded(content[name], where=f"{where}: {name}", least=0.0) for name in ("theta", "phi"))
    tau = content["tau"]
    if not isinstance(tau, list) or len(tau) != num_models:
        raise InvalidInput(f"{where}: tau={shown(tau)}; expected {num_models} lists, one per model.")
    rows = [_numbers(row, num_classes, f"{where}: tau[{number}]", least=0.0) for number, row in enumerate(tau)]
    bias = content["bias"]
    if bias is not None:
        bias = _numbers(bias, num_classes, f"{where}: bias", least=-np.finfo(float).max)
    try:
        return PriorParams(theta, phi, np.array(rows[0] if num_models == 1 else rows), bias)
    except InvalidInput as problem:
        raise InvalidInput(f"{where}: {problem}") from problem


def _numbers(values: Any, count: int, where: str, *, least: float) -> list[float]:  # noqa: ANN401
    if not isinstance(values, list) or len(values) != count:
        raise InvalidInput(f"{where}={shown(values)}; expected a list of {count} numbers, as many as classes.")
    return [bounded(value, where=f"{where}[{number}]", least=least) for number, value in enumerate(values)]


def _method(content: Any, where: str) -> tuple[str, dict[str, Any]]:  # noqa: ANN401
    if not isinstance(content, dict) or set(content) != {"name", "knobs"} or not isinstance(content["knobs"], dict):
        raise InvalidInput(f'{where}: method={shown(content)}; expected {{"name": ..., "knobs": {{...}}}}.')
    name = _text(content["name"], f"{where}: method.name")
    if name not in METHODS and not name.startswith("own:"):
        raise UnknownMethod(f"{where}: method {name!r} does not exist; choose one of: {', '.join(METHODS)}.")
    return name, dict(content["knobs"])


def _names(values: Any, where: str) -> tuple[str, ...]:  # noqa: ANN401
    if not isinstance(values, list) or not values:
        raise InvalidInput(f"{where}={shown(values)}; expected a list of at least one name.")
    names = tuple(_text(value, where) for value in values)
    if len(set(names)) != len(names):
        raise InvalidInput(f"{where}={shown(values)}; expected each name once; rename one.")
    return names


def _each(values: Any, check: Any, where: str) -> Any:  # noqa: ANN401
    """A JSON list through a check of `validate`, the place named."""
    if not isinstance(values, list):
        raise InvalidInput(f"{where}={shown(values)}; expected a list of names.")
    try:
        return check(values)
    except InvalidInput as problem:
        raise InvalidInput(f"{where}: {problem}") from problem


def _text(value: Any, where: str) -> str:  # noqa: ANN401
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{where}={shown(value)}; expected a string that is not empty.")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field stands twice")
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of JSON")

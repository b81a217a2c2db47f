"""A method as plain data and back: journals and params.json hold what a method is, not only its name.

A part is its class and all its fields. Ours are built again from the data; a part of your own is compared with the one
that the caller passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from quorate.errors import UnknownMethod
from quorate.methods.registry import METHODS, Method
from quorate.model import ClassifierPrior, Hyperprior, MapLearner
from quorate.validate import invalid

PARTS = ("policy", "prior", "learner")
FIELDS = ("name", *PARTS, "posterior", "asks_fixed", "choose")
OURS = {
    cls.__name__: cls
    for cls in (ClassifierPrior, MapLearner, Hyperprior, *(type(build().policy) for build in METHODS.values()))
}


def method_data(chosen: Method) -> dict[str, Any]:
    """Everything that defines the method, as JSON stores it; `costs` need the names of classes and stand beside it.

    >>> from quorate.methods import method
    >>> method_data(method("finexp"))["learner"]["hyperprior"]["shape"]
    1.1
    """
    return {field: _data(getattr(chosen, field), field) for field in FIELDS}


def method_from(data: Mapping[str, Any]) -> Method:
    """The method of this data; an error if it has a part of somebody's own.

    >>> from quorate.methods import method
    >>> method_from(method_data(method("infexp", threshold=0.9))) == method("infexp", threshold=0.9)
    True
    """
    return Method(**{field: _built(data[field], field) for field in FIELDS})


def own_parts(data: Mapping[str, Any]) -> list[str]:
    """The names of the classes in the data that are not ours."""
    return [str(data[part]["class"]) for part in PARTS if data[part] is not None and data[part]["class"] not in OURS]


def differences(given: object, stored: object, path: str = "") -> list[tuple[str, Any, Any]]:
    """Where two pieces of data differ: the path and both values."""
    if not (isinstance(given, Mapping) and isinstance(stored, Mapping)) or given.get("class") != stored.get("class"):
        return [] if given == stored else [(path, given, stored)]
    names = [*given, *(name for name in stored if name not in given)]
    inner = [differences(given.get(name), stored.get(name), f"{path}.{name}" if path else name) for name in names]
    return [line for part in inner for line in part]


def _data(value: Any, field: str) -> Any:  # noqa: ANN401
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_data(element, field) for element in value]
    if isinstance(value, Mapping):
        return {str(key): _data(element, field) for key, element in value.items()}
    if is_dataclass(value) or field in PARTS:
        kind = type(value)
        name = kind.__name__ if OURS.get(kind.__name__) is kind else f"{kind.__module__}.{kind.__qualname__}"
        return {"class": name} | {key: _data(element, key) for key, element in _attributes(value).items()}
    rule = "a value that JSON can store, because the journal holds what the method is"
    raise invalid(field, value, rule, "keep numbers, text, lists, arrays and dicts, or a dataclass of these.")


def _attributes(part: Any) -> dict[str, Any]:  # noqa: ANN401
    if is_dataclass(part):
        return {field.name: getattr(part, field.name) for field in fields(part)}
    return dict(getattr(part, "__dict__", {}))


def _built(data: Any, field: str) -> Any:  # noqa: ANN401
    if not isinstance(data, Mapping):
        return data
    if data.get("class") not in OURS:
        rule = f"a part of this library, not {data.get('class')!r}"
        raise invalid(field, data.get("class"), rule, "pass the method itself.", error=UnknownMethod)
    return OURS[data["class"]](**{key: _built(element, key) for key, element in data.items() if key != "class"})

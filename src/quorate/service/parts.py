"""An error of the library -> its field, value, rule and fix, for programs. Called by `problems`.

Errors carry them (`QuorateError`, `validate.broken`). Of those that do not, the words are read, which are of one form
throughout the house: "min_gain=-1; expected a number at least 0; raise it."
"""

from __future__ import annotations

import re
from typing import Any

from quorate.errors import QuorateError
from quorate.service.pydantic_errors import quoted

NAMES = ("field", "value", "rule", "fix")
SUBJECT = re.compile(r"[A-Za-z_][\w.\[\]]{0,79}(?=[= ])")
CLAUSE_ENDS = re.compile(r"; |\. (?=[A-Z])")


def parts(error: QuorateError) -> dict[str, Any]:
    """Field, value, rule and fix of an error: what it carries, else what its words say.

    >>> from quorate.validate import broken
    >>> parts(broken("pool_size", 0, "a whole number >= 1", "raise it."))
    {'field': 'pool_size', 'value': 0, 'rule': 'a whole number >= 1', 'fix': 'raise it.'}
    """
    told = {name: getattr(error, name) for name in NAMES} if error.rule is not None else of_message(str(error))
    field = str(told["field"]).partition(" for item ")[0]  # "prediction for item 'a'": a program knows which
    return told | {"field": field, "value": quoted(told["value"])}


def of_message(message: str) -> dict[str, Any]:
    """What a message says, by its form. The value is in the message; it is not taken out of it.

    >>> of_message("rule='x'; expected 'min_gain' or 'threshold'; see rule_knob(method).")
    {'field': 'rule', 'value': None, 'rule': "'min_gain' or 'threshold'", 'fix': 'see rule_knob(method).'}
    """
    wrong, expected, rest = message.rpartition("; expected ")
    subject = SUBJECT.match(wrong if expected else message)
    field = subject[0] if subject else "request"
    rule, fix = (*CLAUSE_ENDS.split(rest, maxsplit=1), "")[:2]
    return {
        "field": field,
        "value": None,
        "rule": rule or "what the service can take",
        "fix": fix or f"Change {'the ' if subject is None else ''}{field} so that it fits.",
    }

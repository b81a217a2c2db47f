"""An error of the library -> its field, value, rule and fix, for programs. Called by `problems`.

An error may carry them (`QuorateError`). Others are read off its words, which are of one form throughout the house:
"pool_size=0; expected a whole number >= 1; raise it."
"""

from __future__ import annotations

import re
from ast import literal_eval
from typing import Any

from quorate.errors import InvalidPrediction, QuorateError, UnknownClass

LONGEST = 2000  # characters of a message that are read
NAMES = ("field", "value", "rule", "fix")
SUBJECT = re.compile(  # "items[3].id='x'", "prediction for item 'a' sums to 2", "classes has 99 names"
    r"(?P<field>[A-Za-z_][\w.\[\]]{0,79})( for item .{1,200}?)?"
    r"(=(?P<given>'[^']*'|\"[^\"]*\"|[^;:]{1,200}?)|(?= (has|holds|contains|sums|is) ))"
    r"(?= |;|:|$)( (has shape|has|holds|contains|sums to) (?P<held>[^;]{1,200}))?",
    re.DOTALL,
)
NO_CLASS = re.compile(
    r"(?P<field>[a-z]+)( for item .{1,300}?)?=(?P<value>'[^']*'|\"[^\"]*\"|[^'\"=]+) is not a class; "
    r"expected one of (?P<known>\[.*\])\. ",
    re.DOTALL,
)
CLAUSE_ENDS = re.compile(r"; |\. (?=[A-Z])|\? (?=[A-Z])")


def parts(error: QuorateError) -> dict[str, Any]:
    """Field, value, rule and fix of an error: what it carries, else what its message says.

    >>> from quorate.errors import InvalidInput
    >>> parts(InvalidInput("pool_size=0; expected a whole number >= 1; raise it."))
    {'field': 'pool_size', 'value': '0', 'rule': 'a whole number >= 1', 'fix': 'raise it.'}
    """
    message = str(error)[:LONGEST]
    if isinstance(error, UnknownClass) and (said := NO_CLASS.match(message)):
        return _of_class(said)
    carried = {name: getattr(error, name) for name in NAMES}
    if carried["rule"] is not None:
        return carried
    read = of_message(message)
    return read | ({"field": "prediction"} if isinstance(error, InvalidPrediction) else {})


def of_message(message: str) -> dict[str, Any]:
    """What a message says, by its form: "what is wrong; expected the rule; the fix".

    >>> of_message("max_votes=2 is below min_votes=3; raise max_votes or lower min_votes.")["field"]
    'max_votes'
    >>> of_message("the file is empty.")
    {'field': 'request', 'value': None, 'rule': 'the file is empty.', 'fix': 'Change the request so that it fits.'}
    """
    wrong, expected, rest = message.partition("; expected ")
    about = SUBJECT.match(wrong)
    clauses = CLAUSE_ENDS.split(rest if expected else message, maxsplit=1)
    rule, fix = clauses if len(clauses) == 2 else (clauses[0], None)
    field = about["field"] if about else "request"
    return {
        "field": field,
        "value": _value(about["held"] or about["given"]) if about else None,
        "rule": rule or "what the service can take",
        "fix": fix or f"Change {'the ' if about is None else ''}{field} so that it fits.",
    }


def _value(words: str | None) -> Any:  # noqa: ANN401
    """A text without its quotes; anything else as it is written."""
    if words is None or words[:1] not in ("'", '"'):
        return words
    try:
        return literal_eval(words)
    except (SyntaxError, ValueError):
        return words


def _of_class(said: re.Match[str]) -> dict[str, Any]:
    """The parts of "label='cow' is not a class; expected one of ['cat', 'dog']." """
    try:
        value, known = literal_eval(said["value"]), [str(name) for name in literal_eval(said["known"])]
    except (SyntaxError, ValueError):  # cut short
        value, known = said["value"], [said["known"]]
    classes = ", ".join(known)
    return {"field": said["field"], "value": value, "rule": "a class of the project", "fix": f"Use one of: {classes}."}

"""Errors on settings use the form's labels and what was typed; the field is marked."""

import pytest

from quorate.errors import InvalidInput
from quorate.service.domain.settings import ProjectSettings
from quorate.service.pages.formats import in_words_of_the_form
from quorate.service.pages.projects import LABELS, as_form, changes_of, new_settings
from quorate.service.problems import of_error

FORM = as_form(ProjectSettings(classes=("cat", "dog", "fox"), pool_size=5)) | {"name": "Animals"}

TARGET = {"goal": "target_error", "target_error": "2"}


def refused(**typed):
    form = FORM | typed
    with pytest.raises(InvalidInput) as raised:
        new_settings(form).check_limits()
    return in_words_of_the_form(of_error(raised.value).body(), form, LABELS)


@pytest.mark.parametrize(
    ("typed", "field", "begins", "holds"),
    [
        ({"pool_size": "0"}, "pool_size", "“Experts in the pool”: 0; expected ", ""),
        ({"pool_size": "many"}, "pool_size", "“Experts in the pool”: many; expected a number", "e.g. 3."),
        ({"min_votes": "9"}, "min_votes", "“Fewest votes per item”: 9; expected at most “Experts in the", "lower “Few"),
        ({"min_votes": "4", "max_votes": "3"}, "max_votes", "“Most votes per item”: 3; expected at least “Fewest", ""),
        ({"goal": "budget", "budget": "9"}, "budget", "“Spend", "at most “Experts in the pool”, which is 5"),
        ({"min_votes": "it's \"x\""}, "min_votes", "“Fewest votes per item”: it's \"x\"; expected a number", ""),
        ({"audit_rate": "200"}, "audit_rate", "“Audited share, %”: 200; expected 0 to 100 %; lower it.", ""),
        ({"audit_rate": "0"} | TARGET, "audit_rate", "“Audited share, %”: 0; expected more than 0 %", "e.g. 5."),
        ({"goal": "threshold", "threshold": "0.95"}, "threshold", "“Close an item", "did you mean 95? Raise it."),
        ({"goal": "threshold", "threshold": "30 %"}, "threshold", "“Close an item", "more than 33.3 % (1 / 3"),
        ({"goal": "threshold", "threshold": "950"}, "threshold", "“Close an item", "100 %"),
        ({"goal": "target_error", "target_error": "0"}, "target_error", "“Aim for", "more than 0 %, at most 100 %"),
        ({"goal": "budget", "budget": ""}, "budget", "“Spend this many votes per item on average", ": empty; expected"),
        ({"goal": "value", "error_price": "-1"}, "error_price", "“", ": -1; expected "),
        ({"goal": "value", "error_price": "1,000"}, "error_price", "“", "write 1000, or 1.000."),
        ({"classes": "cat"}, "classes", "“What voters choose from”", "expected"),
        ({"classes": "cat\n" + "x" * 300}, "classes", "“What voters choose from”: cat", "expected text of at most 100"),
    ],
)  # fmt: skip
def test_the_words_of_the_form_are_used(typed, field, begins, holds):
    told = refused(**typed)
    assert told["field"] == field
    assert told["detail"].startswith(begins) and told["detail"].startswith(f"“{LABELS[field]}”: ")
    assert holds in told["detail"]
    assert not any(name in told["detail"] for name in ("`", *LABELS) if name == "`" or "_" in name)


def test_errors_without_a_form_field_stay_unchanged():
    told = {"field": "request", "detail": "the database is busy; send this again."}
    assert in_words_of_the_form(told, {}, LABELS) == told


def test_a_rate_that_is_lowered():
    before = ProjectSettings(classes=("cat", "dog"), pool_size=5, audit_rate=0.1)
    form = as_form(before) | {"audit_rate": "5"}
    with pytest.raises(InvalidInput) as raised:
        changes_of(form, before=before)
    told = in_words_of_the_form(of_error(raised.value).body(), form, LABELS)["detail"]
    assert told.startswith("“Audited share, %”: 5; expected at least 10 %: the bound on wrong answers relies on")

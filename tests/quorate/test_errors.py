"""Errors are data: the parts are what callers read, and one renderer makes sentences of them."""

import pickle
import shlex
from pathlib import Path

import numpy as np
import pytest

import quorate
from quorate.errors import InvalidInput, JournalCorrupt, QuorateError, shown, source_is, with_names
from quorate.validate import invalid
from tests.refusals import refused

OPTIONS = {"max_votes": "--max-votes", "classes": "--classes", "strict": "--strict", "path": "FILE"}


def test_an_error_is_rendered_from_its_parts():
    error = invalid("max_votes", 2, "at least `min_votes`, which is 3", "raise `max_votes` or lower `min_votes`.")
    assert (error.field, error.value) == ("max_votes", 2)
    assert str(error) == (
        "max_votes=2; expected at least `min_votes`, which is 3; raise `max_votes` or lower `min_votes`."
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pass `classes=['a b', 'c']`.", "pass --classes 'a b,c'."),
        ("pass `classes=a,b`.", "pass --classes a,b."),
        ("pass `classes=[...]`.", "pass --classes."),
        ("pass `classes='...'`, or", "pass --classes ..., or"),
        ("pass `strict=True`.", "pass --strict."),
        ("pass `max_votes=3`.", "pass --max-votes 3."),
        ("max_votes=3 and classes in plain words", "max_votes=3 and classes in plain words"),
        ("`quorate run` and `unknown=3` stay", "`quorate run` and `unknown=3` stay"),
        ("a ` alone, `` and `max_votes", "a ` alone, `` and `max_votes"),
    ],
)
def test_only_names_in_backticks_are_replaced(text, expected):
    assert with_names(text, OPTIONS) == expected
    assert with_names(text, {}) == text


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        ("???", "'???'"),
        (["a", "b"], "a,b"),
        (("a b", "c"), "'a b,c'"),
        (Path("votes.csv"), "votes.csv"),
        (0.5, "0.5"),
        (True, ""),
        (None, "not given"),
        ("\x1b[31m", repr("\x1b[31m")),
    ],
)
def test_the_value_is_shown_as_it_would_be_typed(value, typed):
    words = invalid("classes", value, "names", "name them.").render(OPTIONS)
    assert words == f"--classes {typed}; expected names; name them.".replace(" ;", ";")
    assert shlex.split(words)


def test_the_place_and_the_fix_are_part_of_the_sentence():
    assert str(invalid("a", 1, "2", "pass 2", place="row 3")) == "a=1 (row 3); expected 2; pass 2."
    assert str(invalid("a", 1, "2", "Is it 2?")) == "a=1; expected 2. Is it 2?"
    assert str(invalid("a", 1, "2", "")) == "a=1; expected 2."


def test_a_message_without_parts_is_shown_as_it_is():
    error = InvalidInput("no such thing: classes=[...]; name it.")
    assert str(error) == error.render(OPTIONS) == "no such thing: classes=[...]; name it."
    assert (error.field, error.value, error.rule, error.fix) == (None, None, None, None)


@pytest.mark.parametrize("field", ["source", "path"])
def test_what_readers_call_source_is_called_by_the_argument_of_the_caller(field):
    @source_is("votes")
    def read():
        raise invalid(field, "vote.csv", "a file that exists", "check its name.")

    with refused("votes") as caught:
        read()
    assert str(caught.value).startswith("votes='vote.csv'")


def test_other_fields_keep_their_name():
    with refused("classes"), source_is("votes"):
        raise invalid("classes", (), "names", "name them.")


@pytest.mark.parametrize(
    "error",
    [
        invalid("f", "v", "r", "x", place="row 1"),
        JournalCorrupt("line 3 is damaged", line=3, field="journal"),
        QuorateError(),
    ],
)
def test_an_error_survives_a_trip_to_another_process(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__


def test_values_are_shown_on_one_line_and_cut():
    assert shown(np.eye(2)) == "array([[1., 0.], [0., 1.]])"
    assert len(shown("x" * 10_000)) < 220


def test_usual_mistakes_are_one_short_sentence(tmp_path):
    names = {"votes": "--votes", "budget": "--budget", "error_cost": "--error-cost"}
    mistakes = {
        "--votes: nope.csv not found.": lambda: quorate.run("nope.csv"),
        "Use either --budget or --error-cost.": lambda: quorate.run("nope.csv", budget=2.0, error_cost=50),
    }
    for text, call in mistakes.items():
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.render(names) == text and caught.value.rule

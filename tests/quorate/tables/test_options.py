"""How to read tables is declared once: arguments, signatures and the page follow from `TableOptions`."""

import dataclasses
import inspect
from pathlib import Path
from typing import get_type_hints

import pytest

import quorate
from quorate.errors import InvalidInput
from quorate.tables.options import OPTIONS, ScoreKeywords, TableKeywords, TableOptions, options_page, table_options


def test_the_keywords_are_the_fields_with_their_types():
    assert set(TableKeywords.__annotations__) == {field.name for field in dataclasses.fields(TableOptions)}
    assert get_type_hints(TableKeywords) == get_type_hints(TableOptions)


@pytest.mark.parametrize("name", ["run", "plan", "score"])
def test_help_shows_every_option_with_its_default(name):
    shown = inspect.signature(getattr(quorate, name)).parameters
    keywords = ScoreKeywords if name == "score" else TableKeywords
    for option in keywords.__annotations__:
        assert shown[option].kind is inspect.Parameter.KEYWORD_ONLY
        assert shown[option].default == OPTIONS[option].default
    assert not [each for each in shown.values() if each.kind is inspect.Parameter.VAR_KEYWORD]


def test_the_page_has_the_table_of_the_options():
    page = (Path(__file__).parents[3] / "docs" / "tables.md").read_text()
    assert options_page() in page, "put quorate.tables.options.options_page() into docs/tables.md"


def test_an_option_that_does_not_exist_is_refused_with_the_nearest():
    with pytest.raises(InvalidInput) as caught:
        table_options({"label_column": "Read"})
    assert (caught.value.field, caught.value.value, caught.value.fix) == (
        "label_column",
        "Read",
        "pass `label` instead.",
    )


@pytest.mark.parametrize("name", ["strict", "format"])
def test_the_default_is_not_typed(name):
    assert TableOptions(**{name: OPTIONS[name].default}).in_shell() == []

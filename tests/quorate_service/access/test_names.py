"""Names are trimmed and normalised, and have no invisible characters."""

import pytest

from quorate_service.access.accounts import LONGEST, checked_name
from tests.refusals import refused


@pytest.mark.parametrize(
    ("given", "kept"),
    [(" Ada  L. ", "Ada L."), ("e\u0301", "\u00e9"), ("张伟", "张伟"), ("<b>x</b>", "<b>x</b>"), ("a\tb\nc", "a b c")],
)
def test_names_are_kept_as_people_write_them(given, kept):
    assert checked_name(given) == kept


@pytest.mark.parametrize(
    "odd", ["", "   ", "x" * (LONGEST + 1), "a\x00b", "a\x07", "\ud800", "a\u202eb", "\u200b", "\u200d\u200d", 7, None]
)
def test_names_with_invisible_characters_are_refused(odd):
    with refused("name"):
        checked_name(odd)

"""Fields of a form: invalid numbers are refused, without an internal error."""

import re

import pytest

from quorate_service.pages.formats import number, share, whole_number
from tests.quorate_service.pages.world import made_world
from tests.refusals import refused

NONE = ["inf", "-inf", "nan", "Infinity", "1e400", "-1e400", "three", "0x10"]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *[(read, text) for read in (number, whole_number, share) for text in NONE],
        *[(number, text) for text in ("1,000", "+01,000", "-12,345")],
        (whole_number, "2.5"),
        *[(share, text) for text in ("-1", "100.1", "950", "5 % %")],
    ],
)
def test_invalid_and_ambiguous_numbers_are_refused_by_field(read, text):
    with refused("pool_size") as caught:
        read({"pool_size": text}, "pool_size")
    assert caught.value.fix


def test_numbers_are_read():
    assert (number({"a": " 2,5 "}, "a"), number({"a": "1e3"}, "a"), whole_number({"a": "1e3"}, "a")) == (2.5, 1e3, 1000)


def test_pages_refuse_them_with_the_same_message(tmp_path):
    with made_world(tmp_path) as world:
        owner = world.browser("owner")
        given = {"name": "x"}
        settings = {"state": "active", "pool_size": "3"}
        forms = [(world.address("/settings"), settings | {name: "nan"}) for name in ("pool_size", "max_votes", "price")]
        forms += [(world.address("/people/invite"), {"role": "voter", name: "inf"}) for name in ("most_uses", "days")]
        forms.append(("/new", {"classes": "a,b", "pool_size": "1e400"}))
        for path, fields in forms:
            answer = owner.post(path, data=given | fields)
            assert answer.status_code == 422 and "Expected: a number" in answer.text, (path, fields)
            marked = re.search(r'<input id="(\w+)" aria-invalid="true" aria-describedby="problem"', answer.text)
            assert "invite" in path or fields[marked[1]] in ("nan", "1e400")


@pytest.mark.parametrize(
    ("written", "found"),
    [("99,875 %", 0.99875), ("12.5", 0.125), ("95\u00a0%", 0.95), (" 0 ", 0.0), ("%", None), ("", None)],
)
def test_percentages_are_shares(written, found):
    assert share({"a": written}, "a") == found

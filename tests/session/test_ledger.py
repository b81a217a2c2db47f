"""The compact ledger behaves like a dict, stays small, and loses nothing when it grows."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.errors import InvalidInput
from quorate.session.ledger import CompactMap

FIELDS = [("label", "i4"), ("confidence", "f8")]
keys = st.text(max_size=3) | st.text(st.characters(), max_size=40)
records = st.tuples(st.integers(-(2**31), 2**31 - 1), st.floats(allow_nan=False))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(keys, records), max_size=200), st.lists(keys, max_size=20))
def test_it_answers_as_a_dict_does(writes, others):
    _answers_as_a_dict(CompactMap(FIELDS), writes, others)
    _answers_as_a_dict(CompactMap(FIELDS, words=1), writes, others)


def _answers_as_a_dict(ledger, writes, others):
    plain = {}
    for key, record in writes:
        ledger.set(key, record)
        plain[key] = record
        assert ledger.get(key) == record
    assert len(ledger) == len(plain)
    for key in [*plain, *others]:
        assert ledger.get(key) == plain.get(key)
        assert (key in ledger) == (key in plain)


@pytest.mark.parametrize("words", [1, 2])
def test_growing_many_times_keeps_every_entry(words):
    ledger = CompactMap(FIELDS, words=words)
    for number in range(50_000):
        ledger.set(f"item-{number}", (number, number / 7))
        if number & (number - 1) == 0:
            assert all(ledger.get(f"item-{n}") == (n, n / 7) for n in range(number + 1))
    assert len(ledger) == 50_000
    assert all(ledger.get(f"item-{n}") == (n, n / 7) for n in range(50_000))
    assert not any(f"other-{n}" in ledger for n in range(50_000))


def test_at_most_two_thirds_of_the_slots_are_taken():
    ledger = CompactMap()
    for number in range(5000):
        ledger.set(str(number))
        assert np.count_nonzero(ledger._slots) == len(ledger) <= 2 / 3 * len(ledger._slots)


@pytest.mark.parametrize("crowd", [1, 8, 63])
def test_digests_that_crowd_on_a_few_slots_are_all_found(monkeypatch, crowd):
    monkeypatch.setattr("quorate.session.ledger._digest", lambda key: (int(key) % crowd, int(key)))
    ledger = CompactMap(FIELDS)
    for number in range(600):
        ledger.set(str(number), (number, 0.0))
    assert [ledger.get(str(number)) for number in range(600)] == [(number, 0.0) for number in range(600)]
    assert "600" not in ledger


def test_a_digest_of_zero_is_a_key_like_any_other(monkeypatch):
    monkeypatch.setattr("quorate.session.ledger._digest", lambda _key: (0, 0))
    ledger = CompactMap(FIELDS)
    assert "zero" not in ledger
    ledger.set("zero", (7, 1.0))
    assert ledger.get("zero") == (7, 1.0)


@pytest.mark.no_cover
def test_entries_of_16_bytes_stay_below_50_bytes_each_even_while_growing():
    names = [f"item-{number}" for number in range(50_000)]  # just after it grew: the most slots for an entry
    tracemalloc.start()
    try:
        ledger = CompactMap([("votes", "i8"), ("confidence", "f8")])
        for number, name in enumerate(names):
            ledger.set(name, (number, 0.5))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / len(names) < 50
    assert ledger.nbytes <= peak


def test_a_shorter_digest_saves_eight_bytes_an_entry():
    long, short = CompactMap(FIELDS), CompactMap(FIELDS, words=1)
    for number in range(5000):
        for ledger in (long, short):
            ledger.set(str(number), (number, 0.5))
    assert long.nbytes - short.nbytes == 2 * 4096 * 8
    assert long != short


def test_overwriting_takes_no_space():
    ledger = CompactMap(FIELDS)
    for number in range(10_000):
        ledger.set("same", (number, 0.0))
    assert len(ledger) == 1
    assert ledger.nbytes == CompactMap(FIELDS).nbytes + 4096 * (16 + 12)


def test_without_fields_it_is_a_set():
    seen = CompactMap()
    assert seen.get("a") is None
    seen.set("a")
    seen.set("b", ())
    assert seen.get("a") == () and "b" in seen and "c" not in seen and len(seen) == 2
    assert seen.nbytes < 70_000


def test_maps_are_equal_whatever_the_order_and_differ_by_a_key_a_record_or_a_type():
    names = [f"item-{number}" for number in range(9000)]
    one, two = CompactMap(FIELDS), CompactMap(FIELDS)
    for number, name in enumerate(names):
        one.set(name, (number, float("nan")))
    for number, name in reversed(list(enumerate(names))):
        two.set(name, (0, 0.0))
        two.set(name, (number, float("nan")))
    assert one == two
    assert np.array_equal(one.snapshot()["digest"], two.snapshot()["digest"])
    two.set(names[-1], (0, 0.0))
    assert one != two
    two.set(names[-1], (8999, float("nan")))
    assert one == two
    two.set("one more", (0, 0.0))
    assert one != two
    assert CompactMap(FIELDS) == CompactMap(FIELDS) != CompactMap()
    assert CompactMap() != {}


@pytest.mark.parametrize("record", [(2**40, 0.5), (1,), (1, 2.0, 3), ("x", 0.5), (1, "x"), [1, 0.5], 1, (None, 0.5)])
def test_a_record_that_does_not_fit_is_refused_and_changes_nothing(record):
    ledger = CompactMap(FIELDS)
    ledger.set("old", (3, 0.25))
    before = ledger.snapshot().tobytes()
    for key in ("old", "new"):
        with pytest.raises(InvalidInput) as caught:
            ledger.set(key, record)
        assert (caught.value.field, caught.value.value) == ("record", record)
        assert caught.value.place == f"key {key!r}"
    assert ledger.snapshot().tobytes() == before
    assert "new" not in ledger


def test_a_key_that_is_no_string_and_a_type_without_fields_are_refused():
    with pytest.raises(InvalidInput) as caught:
        CompactMap().set(17)
    assert (caught.value.field, caught.value.value) == ("key", 17)
    with pytest.raises(InvalidInput) as caught:
        CompactMap("f8")
    assert caught.value.field == "dtype"
    with pytest.raises(InvalidInput) as caught:
        CompactMap([("name", "O")])
    assert caught.value.field == "dtype"


def test_long_keys_and_lone_surrogates_are_keys_too():
    ledger = CompactMap(FIELDS)
    ledger.set("\ud800", (1, 0.0))
    ledger.set("x" * 1_000_000, (2, 0.0))
    assert ledger.get("\ud800") == (1, 0.0)
    assert ledger.get("x" * 1_000_000) == (2, 0.0)
    assert "2 entries" in repr(ledger)

"""Hostile pickles are refused and run nothing; pickles of arrays come back equal."""

import builtins
import os
import pickle
import pickletools
import subprocess
import time
import tracemalloc

import hypothesis.extra.numpy as npst
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.datasets.plain_pickle import read_pickle, read_pickle_bytes
from quorate.errors import InvalidInput, RefusedPickle
from quorate.packed_files import VARIABLE

DTYPES = st.sampled_from(["?", "i1", "<i4", ">i8", "u2", "f2", "<f4", ">f8", "c16", "<U7", "S3"]).map(np.dtype)
ARRAYS = DTYPES.flatmap(lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=4, max_side=4)))


class Calls:
    """Pickles as a call of `function`."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@settings(deadline=None)
@given(array=ARRAYS, protocol=st.integers(0, 5), fortran=st.booleans())
def test_an_array_comes_back_equal_through_every_protocol(array, protocol, fortran):
    given_array = np.asfortranarray(array) if fortran else array
    again = read_pickle_bytes(pickle.dumps({"x": [given_array], "y": (given_array, 1)}, protocol))
    np.testing.assert_array_equal(again["x"][0], given_array)
    assert again["x"][0].dtype == given_array.dtype.newbyteorder("=")
    assert again["x"][0] is again["y"][0]


@settings(deadline=None)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text() | st.binary(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3) | st.tuples(inner),
        max_leaves=8,
    ),
    protocol=st.integers(2, 5),
)
def test_plain_containers_come_back_equal(value, protocol):
    assert read_pickle_bytes(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", range(6))
def test_numpy_numbers_empty_arrays_and_views_come_back(protocol):
    value = {"n": np.float32(0.5), "none": np.zeros((0, 3)), "view": np.arange(12).reshape(3, 4)[::2, 1:]}
    again = read_pickle_bytes(pickle.dumps(value, protocol))
    assert again["n"] == np.float32(0.5)
    assert again["none"].shape == (0, 3)
    np.testing.assert_array_equal(again["view"], value["view"])


@pytest.mark.parametrize("old", ["numpy.core.multiarray", "numpy._core.multiarray"])
def test_both_spellings_of_numpys_modules_are_known(old):
    content = pickle.dumps(np.arange(3), 2).replace(b"numpy._core.multiarray", old.encode())
    assert read_pickle_bytes(content).tolist() == [0, 1, 2]


def nested_in_objects():
    array = np.empty(1, dtype=object)
    array[0] = Calls(os.system, "touch hacked")
    return array


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Calls(os.system, "touch hacked"), r"system"),
        (lambda: Calls(eval, "open('hacked', 'w')"), r"eval"),
        (lambda: Calls(exec, "open('hacked', 'w')"), r"exec"),
        (lambda: Calls(getattr, np.ndarray, "dump"), r"getattr"),
        (lambda: Calls(subprocess.Popen, ["touch", "hacked"]), r"Popen"),
        (lambda: Calls(np.load, "x.npy", None, True), r"load"),
        (lambda: Calls(np.fromfile, "x.npy"), r"fromfile"),
        (lambda: Calls(np.lib.format.open_memmap, "hacked", "w+"), r"open_memmap"),
        (lambda: Calls(np.memmap, "hacked", "u1", "w+", 0, (1,)), r"memmap"),
        (lambda: Calls(np.array([1]).__class__, (2**40,)), r"calls ndarray"),
        (lambda: Calls(bytes, 2**40), r"calls bytes"),
        (lambda: Calls(bytearray, 2**40), r"bytearray"),
        (nested_in_objects, r"objects|asks for|no objects"),
        (lambda: np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]), r"only numbers and text"),
        (lambda: np.array(["2020-01-01"], dtype="M8[D]"), r"only numbers and text"),
        (lambda: np.ma.masked_array([1, 2], mask=[True, False]), r"asks for"),
        (lambda: np.random.default_rng(0), r"asks for"),
        (lambda: {1, 2}, r"asks for|something arrays do not need"),
        (lambda: {(1, 2): 3}, r"the key"),
        (lambda: {2**61 - 1: 3}, r"the key"),
        (lambda: ValueError("x"), r"ValueError|asks for"),
    ],
)
def test_everything_but_arrays_and_plain_containers_is_refused(make, words, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RefusedPickle, match=words):
        read_pickle_bytes(pickle.dumps(make(), protocol))
    assert list(tmp_path.iterdir()) == []


def short(text):
    return b"\x8c" + bytes([len(text)]) + text.encode()


def named(module, name):
    return short(module) + short(name) + b"\x93"


RECONSTRUCT = named("numpy.core.multiarray", "_reconstruct")
NDARRAY = named("numpy", "ndarray")
DTYPE = named("numpy", "dtype")
BLANK = RECONSTRUCT + NDARRAY + b"K\x00\x85C\x01b\x87R"
FLOATS = DTYPE + short("f8") + b"\x89\x88\x87R"
OBJECTS = DTYPE + short("O8") + b"\x89\x88\x87R"
HUGE = b"\x8a\x05\x00\x00\x00\x00\x01"  # 2**32


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (named("numpy.core.multiarray", "scalar") + OBJECTS + short("x") + b"\x86R", "no objects"),
        (named("numpy.core.multiarray", "scalar") + b"K\x01K\x02\x86R", "calls scalar"),
        (named("numpy", "load") + short("x") + b"\x85R", r"numpy\.load"),
        (named("numpy.lib.npyio", "load") + short("x") + b"\x85R", r"numpy\.lib\.npyio\.load"),
        (named("numpy", "ndarray.__reduce__") + b")R", r"ndarray\.__reduce__"),
        (named("numpy", "core.multiarray._reconstruct") + b")R", "asks for"),
        (RECONSTRUCT + named("builtins", "bytes") + b"K\x00\x85C\x01b\x87R", "calls _reconstruct"),
        (RECONSTRUCT + b"}b", "sets the state of _reconstruct"),  # BUILD on a global: would set its attributes
        (NDARRAY + b"}" + short("__setstate__") + b"K\x01sb", "sets the state of ndarray"),
        (NDARRAY + b"N}" + short("__setstate__") + b"K\x01s\x86b", "sets the state of ndarray"),
        (BLANK + b"}" + short("__class__") + b"K\x01sb", "sets the state of Blank"),
        (BLANK + b"(K\x01K\x02\x85" + OBJECTS, "no objects"),
        (BLANK + b"(K\x01K\x02\x85" + FLOATS + b"\x89]tb", "array of objects"),
        (BLANK + b"(K\x01K\x02\x85" + FLOATS + b"\x89C\x00tb", "has 0 bytes"),  # 16 bytes wanted
        (BLANK + b"(K\x01" + HUGE + HUGE + b"\x86" + FLOATS + b"\x89C\x00tb", "has 0 bytes"),
        (BLANK + b"(K\x01J\xff\xff\xff\xff\x85" + FLOATS + b"\x89C\x08aaaaaaaatb", "shape"),
        (BLANK + b"(K\x01K\x00\x85" + short("f8") + b"\x89C\x00tb", "an array's type is 'f8'"),
        (b"K\x01K\x02a", "appends to 1"),
        (b"K\x01K\x02K\x03s", "sets items of 1"),
        (BLANK, "never filled"),
        (NDARRAY, "holds ndarray itself"),
        (FLOATS + b"(K\x03" + short("<") + b"NNNJ\xff\xff\xff\xffK\x00tb", "holds Element itself"),
        (FLOATS + b"(K\x03" + short("<") + b"]]}K\x08K\x08K\x00tb", "state"),
        (DTYPE + short("U999999999") + b"\x89\x88\x87R", "U999999999"),
        (DTYPE + short("f8,O") + b"\x89\x88\x87R", "f8,O"),
        (b"K\x01K\x02\x86" + b"]R", "calls|takes"),
        (short("f") + b")R", "calls 'f'"),
        (b"\x82\x01", "extension code"),
        (b"Pmodule\n", "persistent id"),
        (b"N" + b"Q", "persistent id"),
        (b"cos\nsystem\n", r"os\.system"),
        (b"(cos\nsystem\no", r"os\.system"),
        (b"(" + short("x") + b"ios\nsystem\n", "object of a class"),
        (NDARRAY + b")\x81", "object of a class"),
        (NDARRAY + b")}\x92", "object of a class"),
        (b"\x97", "buffer outside"),
        (b"]2a", "something arrays do not need"),  # DUP
        (b"]\x94h\x00a", "contain themselves"),
        (b"]\x94" + b"".join(b"]h%ch%c\x86a\x94" % (n, n) for n in range(40)), "deep|values behind"),
        (b"K\x01K\x02", "leaves 2 values"),
        (b"(K\x01", "leaves 1 values"),
        (b"K\x01t", "complete pickle"),
        (b"h\x07", "complete pickle"),
        (b"K\x01(a", "takes more values"),
    ],
)
def test_hand_made_attacks_are_refused(body, words):
    with pytest.raises(RefusedPickle, match=words):
        read_pickle_bytes(b"\x80\x04" + body + b".")


@pytest.mark.timing
def test_attacks_by_size_are_refused_at_once():
    begun = time.monotonic()
    far = b"\x80\x04K\x01r\xff\xff\xff\x7f."  # a memo index of 2**31: the C unpickler takes gigabytes for it
    assert read_pickle_bytes(far) == 1
    for body in (b"\x8e" + b"\xff" * 7 + b"\x7f", b"\x96" + b"\xff" * 7 + b"\x7f", b"\x8b\xff\xff\xff\x7f"):
        with pytest.raises(RefusedPickle, match="complete pickle"):
            read_pickle_bytes(b"\x80\x05" + body + b".")
    content = b"B" + (10**6).to_bytes(4, "little") + bytes(10**6)
    buffer = b"\x80\x05" + content + b"\x94" + FLOATS + b"\x94" + named("numpy.core.numeric", "_frombuffer") + b"\x94"
    again = b"h\x02(h\x00h\x01J" + (125_000).to_bytes(4, "little") + b"\x85" + short("C") + b"tR"
    with pytest.raises(RefusedPickle, match="far more than its own size"):
        read_pickle_bytes(buffer + b"(" + again * 10_000 + b"t.")
    lists = b"\x80\x04]\x94" + b"".join(b"]\x94(h%ch%ce" % (n, n) for n in range(60))
    with pytest.raises(RefusedPickle):  # 2**60 paths through 60 lists: told, not walked
        read_pickle_bytes(lists + b"\x93.")
    assert time.monotonic() - begun < 5


def test_too_many_opcodes_and_too_large_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("quorate.datasets.plain_pickle.MOST_OPCODES", 1000)
    with pytest.raises(RefusedPickle, match="more than 1000 opcodes"):
        read_pickle_bytes(pickle.dumps(list(range(2000))))
    (tmp_path / "big.pkl").write_bytes(pickle.dumps(np.zeros(100)))
    assert read_pickle(tmp_path / "big.pkl").size == 100
    monkeypatch.setenv(VARIABLE, "1KB")
    with pytest.raises(InvalidInput) as caught:
        read_pickle(tmp_path / "big.pkl")
    assert (caught.value.field, caught.value.value) == ("max_size", 3 * (tmp_path / "big.pkl").stat().st_size)


def test_a_pickle_that_claims_a_huge_shape_is_refused_before_memory_is_taken(tmp_path):
    stored, claimed = (number.to_bytes(4, "little") for number in (100_000, 2**31 - 1))
    claims = pickle.dumps(np.zeros(100_000)).replace(stored, claimed, 1)
    (tmp_path / "claims.pkl").write_bytes(claims)
    tracemalloc.start()
    with pytest.raises(RefusedPickle):
        read_pickle(tmp_path / "claims.pkl")
    assert tracemalloc.get_traced_memory()[1] < 4 * len(claims)
    tracemalloc.stop()


@settings(deadline=None)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_and_never_crash(content):
    for head in (b"", b"\x80\x04" + BLANK):
        try:
            read_pickle_bytes(head + content + b".")
        except RefusedPickle:
            continue


@settings(deadline=None)
@given(data=st.data())
def test_a_damaged_pickle_is_read_or_refused_and_never_crashes(data):
    content = bytearray(pickle.dumps({"a": np.arange(6.0).reshape(2, 3), "b": [1, "x"]}, data.draw(st.integers(2, 5))))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_pickle_bytes(bytes(content))
    except RefusedPickle:
        return


def test_the_refusal_names_the_file_the_global_and_the_way_out(tmp_path):
    file = tmp_path / "votes.pkl"
    file.write_bytes(pickle.dumps(Calls(os.system, "touch hacked"), 4))
    with pytest.raises(RefusedPickle, match=r"votes\.pkl.*asks for '(posix|nt)\.system'.*Nothing in it was run.*savez"):
        read_pickle(file)


def test_a_list_referred_to_twice_is_one_list():
    inner = [np.arange(2)]
    again = read_pickle_bytes(pickle.dumps((inner, {"a": inner})))
    assert again[0] is again[1]["a"]


def test_bytes_after_the_end_and_missing_files_are_named(tmp_path):
    with pytest.raises(RefusedPickle, match="5 bytes follow"):
        read_pickle_bytes(pickle.dumps(1) + b"extra")
    with pytest.raises(InvalidInput, match=r"^path="):
        read_pickle(tmp_path / "none.pkl")


def test_reading_never_calls_the_real_unpickler_or_imports(monkeypatch, tmp_path):
    content = pickle.dumps({"a": np.arange(3)}, 4)
    list(pickletools.genops(content))  # imports what it needs first

    def forbidden(*_args, **_kwargs):
        raise AssertionError("called")

    for module, name in ((pickle, "loads"), (pickle, "load"), (pickle, "Unpickler"), (builtins, "__import__")):
        monkeypatch.setattr(module, name, forbidden)
    again = read_pickle_bytes(content)
    monkeypatch.undo()
    assert again["a"].tolist() == [0, 1, 2]


def test_the_authors_pickles_are_read(data_dir):
    votes = read_pickle(data_dir / "raw" / "cifar10h_annotator_preds.pkl")
    assert votes.shape == (10000, 50)
    shift = read_pickle(data_dir / "raw" / "imagenet16h_dist_shift.pkl")
    assert shift["model_confs"].shape == (5, 2400, 16)

"""Hostile pickles are refused and run nothing; pickles of arrays come back equal."""

import os
import pickle
import tracemalloc

import hypothesis.extra.numpy as npst
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.errors import RefusedPickle
from quorate.packed_files import VARIABLE
from quorate_paper.datasets.plain_pickle import read_pickle, read_pickle_bytes
from tests.refusals import refused

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
    assert again["x"][0].dtype == given_array.dtype
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
    "make",
    [
        lambda: Calls(os.system, "touch hacked"),
        lambda: Calls(exec, "open('hacked', 'w')"),
        lambda: Calls(getattr, np.ndarray, "dump"),
        lambda: Calls(np.load, "x.npy", None, True),
        lambda: Calls(np.lib.format.open_memmap, "hacked", "w+"),
        lambda: Calls(np.ndarray, (2**40,)),
        lambda: Calls(bytes, 2**40),
        lambda: Calls(bytearray, 2**40),
        nested_in_objects,
        lambda: np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]),
        lambda: np.array(["2020-01-01"], dtype="M8[D]"),
        lambda: np.ma.masked_array([1, 2], mask=[True, False]),
        lambda: np.random.default_rng(0),
        lambda: {1, 2},
        lambda: ValueError("x"),
    ],
)
def test_everything_but_arrays_and_plain_containers_is_refused(make, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RefusedPickle):
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
    "body",
    [
        named("numpy.core.multiarray", "scalar") + OBJECTS + short("x") + b"\x86R",
        named("numpy", "load") + short("x") + b"\x85R",
        named("numpy", "ndarray.__reduce__") + b")R",
        named("numpy", "core.multiarray._reconstruct") + b")R",
        NDARRAY + b"}" + short("__setstate__") + b"K\x01sb",
        NDARRAY + b"N}" + short("__setstate__") + b"K\x01s\x86b",
        BLANK + b"}" + short("__class__") + b"K\x01sb",
        BLANK + b"(K\x01K\x02\x85" + OBJECTS,
        BLANK + b"(K\x01K\x02\x85" + FLOATS + b"\x89]tb",
        BLANK + b"(K\x01K\x02\x85" + FLOATS + b"\x89C\x00tb",  # 16 bytes wanted
        BLANK + b"(K\x01" + HUGE + HUGE + b"\x86" + FLOATS + b"\x89C\x00tb",
        BLANK,  # never filled
        RECONSTRUCT,
        FLOATS + b"(K\x03" + short("<") + b"]]}K\x08K\x08K\x00tb",
        DTYPE + short("U999999999") + b"\x89\x88\x87R",
        DTYPE + short("f8,O") + b"\x89\x88\x87R",
        b"\x82\x01",  # an extension code
        b"Pmodule\n",  # a persistent id
        b"cos\nsystem\n",
        b"(cos\nsystem\no",
        b"(" + short("x") + b"ios\nsystem\n",
        RECONSTRUCT + b")\x81",  # NEWOBJ
        b"]\x94h\x00a",  # contains itself
        b"]\x94" + b"".join(b"]\x94(h%ch%ce" % (n, n) for n in range(60)),  # 2**60 paths through 60 lists
        b"\x8e" + b"\xff" * 7 + b"\x7f",  # lengths far beyond the file
        b"\x96" + b"\xff" * 7 + b"\x7f",
        b"h\x07",
    ],
)
def test_hand_made_attacks_are_refused(body):
    with pytest.raises(RefusedPickle):
        read_pickle_bytes(b"\x80\x05" + body + b".")


def test_a_file_cannot_change_what_later_files_are_read_with():
    for what in (RECONSTRUCT, named("numpy.core.numeric", "_frombuffer"), DTYPE):
        for key in ("__defaults__", "__setstate__", "__dict__", "func"):
            for state in (b"}" + short(key) + b")s", b"N}" + short(key) + b")s\x86"):
                with pytest.raises(RefusedPickle):
                    read_pickle_bytes(b"\x80\x04" + what + state + b"b.")
    test_numpy_numbers_empty_arrays_and_views_come_back(5)


def test_small_files_cannot_claim_much_memory():
    tracemalloc.start()
    assert read_pickle_bytes(b"\x80\x04K\x01r\xff\xff\xff\x7f.") == 1  # a memo index of 2**31
    content = b"B" + (10**6).to_bytes(4, "little") + bytes(10**6)
    buffer = b"\x80\x05" + content + b"\x94" + FLOATS + b"\x94" + named("numpy.core.numeric", "_frombuffer") + b"\x94"
    again = b"h\x02(h\x00h\x01J" + (125_000).to_bytes(4, "little") + b"\x85" + short("C") + b"tR"
    assert len(read_pickle_bytes(buffer + b"(" + again * 1000 + b"t.")) == 1000  # views of one buffer
    claims = pickle.dumps(np.zeros(100_000)).replace(*(n.to_bytes(4, "little") for n in (100_000, 2**31 - 1)), 1)
    with pytest.raises(RefusedPickle):
        read_pickle_bytes(claims)
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


def test_a_file_whose_content_needs_too_much_memory_is_refused(tmp_path, monkeypatch):
    (tmp_path / "big.pkl").write_bytes(pickle.dumps(np.zeros(100)))
    monkeypatch.setenv(VARIABLE, "1KB")
    with refused(VARIABLE, value=3 * (tmp_path / "big.pkl").stat().st_size):
        read_pickle(tmp_path / "big.pkl")


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


def test_the_authors_pickles_are_read(data_dir):
    votes = read_pickle(data_dir / "raw" / "cifar10h_annotator_preds.pkl")
    assert votes.shape == (10000, 50)
    shift = read_pickle(data_dir / "raw" / "imagenet16h_dist_shift.pkl")
    assert shift["model_confs"].shape == (5, 2400, 16)

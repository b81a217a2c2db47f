"""Damaged, oversized and hostile .npy and .npz files: the right arrays or one refusal, never anything else."""

import tracemalloc
import zipfile

import numpy as np
import pytest

from quorate.datasets import checksum, load_npz
from quorate.errors import InvalidInput
from quorate.numpy_files import plain_arrays
from quorate.unpacked import VARIABLE

RNG = np.random.default_rng(7)
ARRAYS = {
    "votes": RNG.integers(3, size=(40, 5)).astype(np.int8),
    "probs": RNG.dirichlet(np.ones(3), size=(2, 40)).astype(np.float32),
    "models": np.array(["resnet", "vgg"]),
    "classes": np.array(["a", "b", "c"]),
    "is_post_shift": np.arange(40) >= 20,
}
SAVE = {"stored": np.savez, "compressed": np.savez_compressed}


def packed(header, data=b""):
    """An .npy with this header text."""
    text = header.encode("latin1")
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize("kind", SAVE)
def test_an_npz_with_a_flipped_byte_is_refused_or_still_right(tmp_path, kind):
    file = tmp_path / "set.npz"
    SAVE[kind](file, **ARRAYS)
    whole, right = file.read_bytes(), checksum(load_npz(file))
    refused = 0
    for place in np.unique(np.r_[0:60, RNG.integers(len(whole), size=500), len(whole) - 300 : len(whole)]):
        bad = bytearray(whole)
        bad[place] ^= 1 << int(RNG.integers(8))
        file.write_bytes(bad)
        try:
            assert checksum(load_npz(file)) == right, place
        except InvalidInput as problem:
            assert "set.npz" in str(problem)
            refused += 1
    assert refused > 300


def test_an_npy_with_a_flipped_or_lost_byte_is_read_or_refused(tmp_path):
    """An .npy has no checksum: a flipped bit in the numbers cannot be detected, one in the header must do no harm."""
    file = tmp_path / "set.npy"
    np.save(file, ARRAYS["probs"])
    whole = file.read_bytes()
    for place in range(0, 128):
        for bit in range(8):
            bad = bytearray(whole)
            bad[place] ^= 1 << bit
            file.write_bytes(bad)
            try:
                assert plain_arrays(file).nbytes == ARRAYS["probs"].nbytes
            except InvalidInput as problem:
                assert "set.npy" in str(problem)
    for length in range(0, len(whole), 37):
        file.write_bytes(whole[:length])
        with pytest.raises(InvalidInput) as caught:
            plain_arrays(file)
        assert (caught.value.field, caught.value.value) == ("source", str(file))


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,",  # tokenize.TokenError
        "{'descr': '<f8' 'shape' 3}",  # SyntaxError
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 10000000000)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
        "(" * 5000,
    ],
)
def test_a_malformed_header_is_refused(tmp_path, header):
    (tmp_path / "x.npy").write_bytes(packed(header, bytes(24)))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("votes.npy", packed(header, bytes(24)))
    for name in ("x.npy", "x.npz"):
        with pytest.raises(InvalidInput) as caught:
            plain_arrays(tmp_path / name)
        assert (caught.value.field, caught.value.value) == ("source", str(tmp_path / name))


def test_what_unpacks_to_more_than_the_limit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "bomb.npz", votes=np.zeros(1_000_000))
    np.save(tmp_path / "plain.npy", np.zeros(1000))
    assert plain_arrays(tmp_path / "bomb.npz")["votes"].size == 1_000_000
    monkeypatch.setenv(VARIABLE, "5KB")
    assert plain_arrays(tmp_path / "plain.npy").size == 1000  # takes the room it has on the disk
    tracemalloc.start()
    with pytest.raises(InvalidInput) as caught:
        plain_arrays(tmp_path / "bomb.npz")
    assert tracemalloc.get_traced_memory()[1] < 500_000
    tracemalloc.stop()
    assert caught.value.field == "max_size"
    assert caught.value.value >= 8_000_000


def test_a_header_that_claims_a_huge_array_takes_no_memory(tmp_path):
    claims = packed("{'descr': '<f8', 'fortran_order': False, 'shape': (100000000, 2)}", bytes(24))
    (tmp_path / "x.npy").write_bytes(claims)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("votes.npy", claims)
    for name in ("x.npy", "x.npz"):
        tracemalloc.start()
        with pytest.raises(InvalidInput):
            plain_arrays(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 500_000
        tracemalloc.stop()


def test_a_flip_in_an_array_that_no_loader_wants_is_noticed_too(tmp_path):
    file = tmp_path / "set.npz"
    np.savez(file, **ARRAYS, more=np.arange(1000))
    whole = bytearray(file.read_bytes())
    whole[whole.index(np.arange(500, 510).tobytes())] ^= 1
    file.write_bytes(whole)
    with pytest.raises(InvalidInput) as caught:
        load_npz(file)
    assert "CRC" in caught.value.rule

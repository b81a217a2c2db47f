"""A map from strings to small fixed records that costs a few dozen bytes an entry, however long the strings.

The session keeps one line of summary for every item and request it has ever seen; this is where they live, so
that memory hardly grows with history. Called by the session's state; holds no maths and touches no disk.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from quorate.validate import broken

Record = tuple[Any, ...]

_CHUNK_BITS = 12
_CHUNK_ROWS = 1 << _CHUNK_BITS  # entries are kept in chunks that never move: growth copies no entry
_ROW_MASK = _CHUNK_ROWS - 1
_FIRST_SLOTS = 64

_split = Struct("=QQ").unpack


class CompactMap:
    """A hash table in NumPy arrays: a 128-bit digest of the key, and a record of `dtype`, for each entry.

    Entries lie one after the other in chunks; a table of uint32 slots (open addressing, linear probing, at most 2/3
    full) points at them. An entry costs 16 bytes + the record + 6 to 12 bytes of slots (4 to 6 more while the slots
    double). The keys themselves are not kept: they cannot be listed, and two keys are one if their digests are equal,
    which for a billion keys has a chance below 1e-20. With `words=1` the digest has 64 bits: 8 bytes less an entry, and
    for five million keys a chance below 1e-6.

    A record is a tuple with one value a field; without `dtype` the map is a set: every record is `()`.

    >>> seen = CompactMap([("label", "i2"), ("confidence", "f8")])
    >>> seen.set("item-17", (3, 0.975))
    >>> seen.get("item-17"), seen.get("item-18"), "item-17" in seen, len(seen)
    ((3, 0.975), None, True, 1)
    """

    __slots__ = (
        "_digests",
        "_dtype",
        "_index",
        "_length",
        "_limit",
        "_mask",
        "_records",
        "_scratch",
        "_slots",
        "_words",
    )

    def __init__(self, dtype: DTypeLike | None = None, *, words: int = 2) -> None:
        """`dtype`: a NumPy structured type of fixed size; numbers and fixed-length bytes, no Python objects."""
        self._dtype = np.dtype([] if dtype is None else dtype)
        if self._dtype.names is None or self._dtype.hasobject:
            fix = "pass fields with their types, e.g. [('label', 'i2'), ('confidence', 'f8')]."
            raise broken("dtype", dtype, "a structured type of plain values", fix)
        self._words = words
        self._length = 0
        self._digests: list[memoryview[int]] = []  # of each chunk: words * _CHUNK_ROWS uint64
        self._records: list[NDArray[np.void]] = []  # of each chunk: _CHUNK_ROWS records
        self._scratch = np.zeros(1, dtype=self._dtype)
        self._use_slots(np.zeros(_FIRST_SLOTS, dtype=np.uint32))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a record."""
        return self._dtype

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        chunk = _CHUNK_ROWS * (8 * self._words + self._dtype.itemsize)
        return len(self._records) * chunk + self._slots.nbytes

    def __len__(self) -> int:
        """How many keys were set."""
        return self._length

    def __contains__(self, key: str) -> bool:
        """Was `key` ever set?"""
        return self._find(*_digest(key)) >= 0

    def get(self, key: str) -> Record | None:
        """The record of `key` as a tuple of Python values; None if the key was never set."""
        row = self._find(*_digest(key))
        if row < 0:
            return None
        return cast(Record, self._records[row >> _CHUNK_BITS].item(row & _ROW_MASK))

    def set(self, key: str, record: Record = ()) -> None:
        """Write the record of `key`, new or not. A record that does not fit changes nothing."""
        self._check_record(key, record)
        low, high = _digest(key)
        row = self._find(low, high)
        if row < 0:
            row = self._add(low, high, slot=~row)
        self._records[row >> _CHUNK_BITS][row & _ROW_MASK] = self._scratch[0]

    def snapshot(self) -> NDArray[np.void]:
        """All entries as one array with fields `digest` and `record`, sorted by digest: the same for equal maps."""
        entries = np.zeros(self._length, dtype=[("digest", np.uint64, (self._words,)), ("record", self._dtype)])
        for chunk, (digests, records) in enumerate(zip(self._digests, self._records, strict=True)):
            part = entries[chunk * _CHUNK_ROWS : (chunk + 1) * _CHUNK_ROWS]
            part["digest"] = np.frombuffer(digests, dtype=np.uint64).reshape(-1, self._words)[: len(part)]
            part["record"] = records[: len(part)]
        return entries[np.lexsort((entries["digest"][:, 0], entries["digest"][:, -1]))]

    def __eq__(self, other: object) -> bool:
        """The same keys with the same records, bit for bit, in whatever order they came."""
        if not isinstance(other, CompactMap):
            return NotImplemented
        if (self._dtype, self._words, self._length) != (other._dtype, other._words, other._length):
            return False
        return self.snapshot().tobytes() == other.snapshot().tobytes()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """What it holds, in short."""
        return f"CompactMap({self._length} entries of {self._dtype}, {self.nbytes} bytes)"

    def _check_record(self, key: str, record: Record) -> None:
        """Bring `record` into the scratch row first, so that one that does not fit leaves no half-written entry."""
        try:
            if not isinstance(record, tuple):
                raise TypeError(f"a {type(record).__name__} is not a tuple")
            self._scratch[0] = record
        except (TypeError, ValueError, OverflowError) as cause:
            rule, fix = f"values that fit {self._dtype} ({cause})", "pass a tuple with one value per field, in range."
            raise broken("record", record, rule, fix, place=f"key {key!r}") from cause

    def _find(self, low: int, high: int) -> int:
        """The row of this digest; if it is not here, ~slot, where slot is the empty one it would take."""
        index, mask, digests, words = self._index, self._mask, self._digests, self._words
        slot = low & mask
        while row := index[slot]:
            row -= 1  # a slot holds row + 1; 0 is empty
            chunk, place = digests[row >> _CHUNK_BITS], (row & _ROW_MASK) * words
            if chunk[place] == low and (words == 1 or chunk[place + 1] == high):
                return row
            slot = (slot + 1) & mask
        return ~slot

    def _add(self, low: int, high: int, *, slot: int) -> int:
        """Append an entry for a digest that is not here yet and point the empty `slot` at it."""
        row = self._length
        if row >= self._limit:
            self._double()
            slot = ~self._find(low, high)
        place = row & _ROW_MASK
        if place == 0 and row >> _CHUNK_BITS == len(self._records):
            self._digests.append(np.zeros(self._words * _CHUNK_ROWS, dtype=np.uint64).data)
            self._records.append(np.zeros(_CHUNK_ROWS, dtype=self._dtype))
        chunk = self._digests[row >> _CHUNK_BITS]
        chunk[place * self._words] = low
        if self._words == 2:
            chunk[place * 2 + 1] = high
        self._length = row + 1
        self._index[slot] = row + 1
        return row

    def _use_slots(self, slots: NDArray[np.uint32]) -> None:
        self._slots = slots
        self._index = slots.data  # reading one int of it is 3x faster than of an array
        self._mask = len(slots) - 1
        self._limit = 2 * len(slots) // 3

    def _double(self) -> None:
        """Twice the slots. Only the slots are rebuilt, chunk by chunk, so the peak is hardly above what stays."""
        slots = np.zeros(2 * len(self._slots), dtype=np.uint32)
        for chunk, digests in enumerate(self._digests):
            first = chunk * _CHUNK_ROWS
            low = np.frombuffer(digests, dtype=np.uint64)[:: self._words][: self._length - first]
            _place(slots, low, np.arange(first + 1, first + 1 + len(low), dtype=np.uint32))
        self._use_slots(slots)


def _place(slots: NDArray[np.uint32], low: NDArray[np.uint64], pointers: NDArray[np.uint32]) -> None:
    """Linear probing for many entries at once: whoever finds its slot empty takes it, the others step on together."""
    mask = np.uint64(len(slots) - 1)
    wanted = low & mask
    while len(pointers):
        empty = slots[wanted] == 0
        slots[wanted[empty]] = pointers[empty]  # of several on one slot the last one written stays
        left = slots[wanted] != pointers
        wanted, pointers = (wanted[left] + np.uint64(1)) & mask, pointers[left]


def _digest(key: str) -> tuple[int, int]:
    """128 bits of the key as two uint64 values."""
    try:
        data = key.encode("utf-8", "surrogatepass")
    except AttributeError:
        raise broken("key", key, "text", "pass a str.") from None
    low, high = _split(blake2b(data, digest_size=16).digest())
    return low, high

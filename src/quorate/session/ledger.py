"""A map from strings to small fixed-size records that takes a few dozen bytes per entry, however long the strings.

The session's state uses it for a summary of every item and request it has ever seen, so that memory grows slowly.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from quorate.validate import invalid

Record = tuple[Any, ...]

_CHUNK_BITS = 12
_CHUNK_ROWS = 1 << _CHUNK_BITS  # entries are stored in chunks, so that growth copies no entry
_ROW_MASK = _CHUNK_ROWS - 1
_FIRST_SLOTS = 64

_split = Struct("=QQ").unpack


class CompactMap:
    """A hash table in NumPy arrays: a 128-bit digest of the key, and a record of `dtype`, for each entry.

    Entries are stored consecutively in chunks; a table of uint32 slots (open addressing, linear probing, at most 2/3
    full) points at them. An entry takes 16 bytes + the record + 6 to 12 bytes of slots (4 to 6 more while the slots
    double). Keys are not stored: they cannot be listed, and two keys with equal digests are treated as one, which for a
    billion keys has a probability below 1e-20. With `words=1` the digest has 64 bits: 8 bytes less per entry, and a
    probability below 1e-6 for five million keys.

    A record is a tuple with one value per field; without `dtype` the map is a set: every record is `()`.

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
            raise invalid("dtype", dtype, "a structured type of plain values", fix)
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
        """Bytes used by the arrays."""
        chunk = _CHUNK_ROWS * (8 * self._words + self._dtype.itemsize)
        return len(self._records) * chunk + self._slots.nbytes

    def __len__(self) -> int:
        """The number of keys."""
        return self._length

    def __contains__(self, key: str) -> bool:
        """Whether `key` was set."""
        return self._find(*_digest(key)) >= 0

    def get(self, key: str) -> Record | None:
        """The record of `key` as a tuple of Python values; None if the key was never set."""
        row = self._find(*_digest(key))
        if row < 0:
            return None
        return cast(Record, self._records[row >> _CHUNK_BITS].item(row & _ROW_MASK))

    def set(self, key: str, record: Record = ()) -> None:
        """Write the record of a new or existing `key`. A record that does not fit is refused."""
        self._check_record(key, record)
        low, high = _digest(key)
        row = self._find(low, high)
        if row < 0:
            row = self._add(low, high, slot=~row)
        self._records[row >> _CHUNK_BITS][row & _ROW_MASK] = self._scratch[0]

    def snapshot(self) -> NDArray[np.void]:
        """All entries as one array with fields `digest` and `record`, sorted by digest: equal for equal maps."""
        entries = np.zeros(self._length, dtype=[("digest", np.uint64, (self._words,)), ("record", self._dtype)])
        for chunk, (digests, records) in enumerate(zip(self._digests, self._records, strict=True)):
            part = entries[chunk * _CHUNK_ROWS : (chunk + 1) * _CHUNK_ROWS]
            part["digest"] = np.frombuffer(digests, dtype=np.uint64).reshape(-1, self._words)[: len(part)]
            part["record"] = records[: len(part)]
        return entries[np.lexsort((entries["digest"][:, 0], entries["digest"][:, -1]))]

    def __eq__(self, other: object) -> bool:
        """The same keys with the same records, bit for bit, in any order."""
        if not isinstance(other, CompactMap):
            return NotImplemented
        if (self._dtype, self._words, self._length) != (other._dtype, other._words, other._length):
            return False
        return self.snapshot().tobytes() == other.snapshot().tobytes()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Number of entries, type and size."""
        return f"CompactMap({self._length} entries of {self._dtype}, {self.nbytes} bytes)"

    def _check_record(self, key: str, record: Record) -> None:
        """Write `record` to the scratch row first, so that a record that does not fit leaves no partial entry."""
        try:
            if not isinstance(record, tuple):
                raise TypeError(f"a {type(record).__name__} is not a tuple")
            self._scratch[0] = record
        except (TypeError, ValueError, OverflowError) as cause:
            rule, fix = f"values that fit {self._dtype} ({cause})", "pass a tuple with one value per field, in range."
            raise invalid("record", record, rule, fix, place=f"key {key!r}") from cause

    def _find(self, low: int, high: int) -> int:
        """The row of this digest; if there is none, ~slot, where slot is the empty one it would take."""
        index, mask, digests, words = self._index, self._mask, self._digests, self._words
        slot = low & mask
        while row := index[slot]:
            row -= 1  # a slot contains row + 1; 0 is empty
            chunk, place = digests[row >> _CHUNK_BITS], (row & _ROW_MASK) * words
            if chunk[place] == low and (words == 1 or chunk[place + 1] == high):
                return row
            slot = (slot + 1) & mask
        return ~slot

    def _add(self, low: int, high: int, *, slot: int) -> int:
        """Append an entry for a new digest and point the empty `slot` at it."""
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
        self._index = slots.data  # reading one int from it is 3x faster than from an array
        self._mask = len(slots) - 1
        self._limit = 2 * len(slots) // 3

    def _double(self) -> None:
        """Double the slots. Only the slots are rebuilt, chunk by chunk, so the peak of memory is small."""
        slots = np.zeros(2 * len(self._slots), dtype=np.uint32)
        for chunk, digests in enumerate(self._digests):
            first = chunk * _CHUNK_ROWS
            low = np.frombuffer(digests, dtype=np.uint64)[:: self._words][: self._length - first]
            _place(slots, low, np.arange(first + 1, first + 1 + len(low), dtype=np.uint32))
        self._use_slots(slots)


def _place(slots: NDArray[np.uint32], low: NDArray[np.uint64], pointers: NDArray[np.uint32]) -> None:
    """Linear probing for many entries at once: entries that find an empty slot take it, the others move on together."""
    mask = np.uint64(len(slots) - 1)
    wanted = low & mask
    while len(pointers):
        empty = slots[wanted] == 0
        slots[wanted[empty]] = pointers[empty]  # if several share a slot, the last one stays
        left = slots[wanted] != pointers
        wanted, pointers = (wanted[left] + np.uint64(1)) & mask, pointers[left]


def _digest(key: str) -> tuple[int, int]:
    """128 bits of the key as two uint64 values."""
    try:
        data = key.encode("utf-8", "surrogatepass")
    except AttributeError:
        raise invalid("key", key, "text", "pass a str.") from None
    low, high = _split(blake2b(data, digest_size=16).digest())
    return low, high

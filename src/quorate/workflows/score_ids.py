"""Ids of a stream -> which of them stood before, in eight bytes each.

A digest of 64 bits stands for an id: among ten million ids two different ones are taken for the same with probability
3e-6. Called by `score_predictions`, so that no item is scored twice however far apart its rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Digests = NDArray[np.uint64]


class SeenIds:
    """Digests of the ids so far, in sorted arrays that double in size, so that adding and looking up stay cheap."""

    def __init__(self) -> None:
        self._levels: list[Digests] = []

    def first(self, ids: Sequence[str]) -> np.ndarray:
        """For each id whether it is there for the first time; all are remembered.

        >>> seen = SeenIds()
        >>> seen.first(["a", "b", "a"]).tolist(), seen.first(["c", "b"]).tolist()
        ([True, True, False], [True, False])
        """
        digests = np.frombuffer(b"".join(blake2b(each.encode(), digest_size=8).digest() for each in ids), np.uint64)
        fresh = np.zeros(len(digests), dtype=bool)
        fresh[np.unique(digests, return_index=True)[1]] = True
        for level in self._levels:
            at = np.minimum(np.searchsorted(level, digests), len(level) - 1)
            fresh &= level[at] != digests
        if fresh.any():
            self._levels.append(np.sort(digests[fresh]))
        while len(self._levels) > 1 and len(self._levels[-2]) <= 2 * len(self._levels[-1]):
            self._levels.append(np.sort(np.concatenate([self._levels.pop(), self._levels.pop()])))
        return fresh

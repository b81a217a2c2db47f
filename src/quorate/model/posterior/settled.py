"""Takes the votes seen; returns whether the missing votes can change the pool's verdict, and that verdict.

Input is trusted. Called by the session and the service; core/posterior.hpp has the same for streams.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate.types import FloatArray, IntArray


def is_settled(votes: IntArray, pool_size: int) -> bool:
    """True if the remaining votes cannot change the plurality. votes (K,) counts out of `pool_size`.

    second + remaining < top, or remaining == 0. A lead that the runner-up can still equal is not settled, because a tie
    shares the verdict.

    >>> import numpy as np
    >>> is_settled(np.array([4, 1, 0]), 7), is_settled(np.array([4, 1, 0]), 8)
    (True, False)
    """
    second, top = sorted([0, *votes.tolist()])[-2:]
    remaining = pool_size - int(votes.sum())
    return remaining <= 0 or second + remaining < top


def are_settled(counts: IntArray, missing: IntArray) -> NDArray[np.bool_]:
    """`is_settled` for many items: votes counts (T, K), `missing` (T,) how many have not voted."""
    top = np.partition(counts, -2, axis=1)[:, -2:]  # second, first
    return np.asarray((missing <= 0) | (top[:, 0] + missing < top[:, 1]))


def plurality_shares(counts: IntArray) -> FloatArray:
    """The plurality of votes counts (..., K) -> (..., K): 1 for the winner, 1/t each for t classes tied at the top.

    >>> plurality_shares(np.array([[2, 0, 2], [0, 3, 1]]))
    array([[0.5, 0. , 0.5],
           [0. , 1. , 0. ]])
    """
    top = counts == counts.max(axis=-1, keepdims=True)
    return np.asarray(top / top.sum(axis=-1, keepdims=True))

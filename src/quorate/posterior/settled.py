"""Takes the votes seen; returns whether the missing votes can change the pool's verdict, and that verdict.

Input is trusted; the first two are compiled. Called by `finite`, by the session and by the compiled stream.
"""

from __future__ import annotations

import numpy as np

from quorate.compiled import kernel
from quorate.types import FloatArray, IntArray


@kernel
def is_settled(votes: IntArray, pool_size: int) -> bool:
    """True if the remaining votes cannot change the plurality. votes (K,) counts out of `pool_size`.

    second + remaining < top, or remaining == 0. A lead that the runner-up can still equal is not settled, because a tie
    shares the verdict.

    >>> import numpy as np
    >>> is_settled(np.array([4, 1, 0]), 7), is_settled(np.array([4, 1, 0]), 8)
    (True, False)
    """
    top, second, remaining = 0, 0, pool_size
    for count in votes:
        remaining -= count
        if count > top:
            top, second = count, top
        elif count > second:
            second = count
    return remaining <= 0 or second + remaining < top


@kernel
def plurality_share_into(votes: IntArray, out: FloatArray) -> None:
    """Write to out (K,) the plurality of votes (K,): 1 for the winner, 1/t each for t classes tied at the top.

    >>> import numpy as np
    >>> share = np.empty(3)
    >>> plurality_share_into(np.array([2, 0, 2]), share)
    >>> share
    array([0.5, 0. , 0.5])
    """
    top, tied = -1, 0
    for count in votes:
        if count > top:
            top, tied = count, 1
        elif count == top:
            tied += 1
    for k in range(votes.size):
        out[k] = 1.0 / tied if votes[k] == top else 0.0


def plurality_shares(counts: IntArray) -> FloatArray:
    """`plurality_share_into` for many pools: counts (..., K) -> (..., K).

    >>> plurality_shares(np.array([[2, 0, 2], [0, 3, 1]]))
    array([[0.5, 0. , 0.5],
           [0. , 1. , 0. ]])
    """
    top = counts == counts.max(axis=-1, keepdims=True)
    return np.asarray(top / top.sum(axis=-1, keepdims=True))

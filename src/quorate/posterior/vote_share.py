"""The belief of the baselines: the share of the votes seen, or the classifier's word while there are none.

Takes votes and a prediction; fills a probability vector. Called by the decision step and by simulations.
"""

from __future__ import annotations

from quorate.compiled import kernel
from quorate.types import FloatArray, IntArray


@kernel
def vote_share_into(votes: IntArray, prediction: FloatArray, out: FloatArray) -> None:
    """Fill out (K,) with votes / sum(votes), or with the prediction (K,) if nobody has voted."""
    total = 0.0
    for k in range(votes.size):
        total += votes[k]
    for k in range(votes.size):
        out[k] = votes[k] / total if total > 0.0 else prediction[k]

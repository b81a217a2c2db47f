"""The belief of the baselines."""

import numpy as np
import pytest

from quorate.decision.belief import vote_share_into


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_votes_count_by_their_share(dtype):
    out = np.empty(3)
    vote_share_into(np.array([3, 1, 0], dtype=dtype), np.array([0.1, 0.1, 0.8]), out)
    np.testing.assert_array_equal(out, [0.75, 0.25, 0.0])


def test_without_votes_the_prediction_speaks():
    out = np.empty(3)
    vote_share_into(np.zeros(3, dtype=np.int64), np.array([0.1, 0.2, 0.7]), out)
    np.testing.assert_array_equal(out, [0.1, 0.2, 0.7])

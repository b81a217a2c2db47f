"""The paper's limiting case: FinExp approaches InfExp as the pool grows, no slower than 1/N."""

import numpy as np
import pytest

from quorate.model.posterior.finite import plurality_finite
from quorate.model.posterior.infinite import plurality_infinite

CASES = [
    ([2.5, 1.2, 0.4], [1, 0, 0]),
    ([0.3, 0.3, 0.3, 0.3], [0, 2, 1, 0]),
    ([6.0, 0.2, 0.2, 0.2, 0.2], [0, 3, 0, 0, 0]),
    ([1.0, 1.0], [5, 4]),
]


@pytest.mark.parametrize(("alpha", "votes"), CASES)
def test_the_distance_to_the_infinite_pool_shrinks_no_slower_than_one_over_its_size(alpha, votes):
    limit = plurality_infinite(alpha, votes)
    sizes = np.array([25, 50, 100, 200, 400])
    distance = np.array([np.abs(plurality_finite(alpha, votes, pool_size=int(n)) - limit).max() for n in sizes])
    scaled = sizes * distance  # levels off: the distance falls like 1/N, not slower
    assert scaled.max() <= 1.5 * scaled.min()
    assert scaled[-1] <= 1.03 * scaled[-2]

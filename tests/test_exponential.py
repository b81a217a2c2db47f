"""Our exponential: against the library, beyond its range, and its two versions against each other."""

import numpy as np
import pytest

from quorate.exponential import LEAST, exponentiate, plain_exponentiate

VALUES = -np.concatenate([np.geomspace(1e-300, 708, 20_001), np.linspace(0, 60, 20_001)])


def test_our_exponential_agrees_with_the_library():
    ours = VALUES.copy()
    exponentiate(ours)
    np.testing.assert_allclose(ours, np.exp(VALUES), rtol=5e-16 * 3)


def test_beyond_its_range_it_is_what_it_is_at_the_end():
    far = np.array([LEAST, -709.0, -1e5, -1e300, -np.inf])
    exponentiate(far)
    assert np.all((far == far[0]) & (far > 0) & (far < 1e-300))


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 40_002])
def test_its_two_versions_give_the_same_bits(size):
    compiled, plain = VALUES[:size].copy(), VALUES[:size].copy()
    exponentiate.dispatcher(compiled)
    plain_exponentiate(plain)
    np.testing.assert_array_equal(compiled, plain)

"""core/tables.hpp has the constants that NumPy computes."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

SOURCE = (Path(__file__).resolve().parents[2] / "core" / "tables.hpp").read_text()


def table(name):
    (body,) = re.findall(rf"double {name}(?:\[\d+\])+ = \{{(.*?)\}};", SOURCE, re.DOTALL)
    return np.array([float.fromhex(number) for number in re.findall(r"-?0x[0-9a-f.]+p[+-]\d+", body)])


def test_gauss_rules_on_the_unit_interval():
    rules = [np.polynomial.legendre.leggauss(count) for count in range(1, 13)]
    assert table("GAUSS_NODES") == pytest.approx(np.concatenate([(nodes + 1) / 2 for nodes, _ in rules]), abs=1e-16)
    assert table("GAUSS_SHARES") == pytest.approx(np.concatenate([shares / 2 for _, shares in rules]), abs=1e-16)


def test_a_panel_integrates_running_polynomials():
    nodes, weights = (values / 2 for values in np.polynomial.legendre.leggauss(16))
    assert table("NODES") == pytest.approx(nodes, abs=1e-16)
    assert table("WEIGHTS") == pytest.approx(weights, abs=1e-16)
    mirrored = np.concatenate([nodes[:8], -nodes[:8]])
    assert table("MIRRORED") == pytest.approx(mirrored, abs=1e-16)
    assert table("MIRRORED_WEIGHTS") == pytest.approx(np.concatenate([weights[:8], weights[:8]]), abs=1e-16)
    even, odd = (table(name).reshape(8, 8) for name in ("EVEN", "ODD"))
    for power in range(16):  # int_{-1/2}^{y_i} y^power dy, from the values at the nodes
        left, right = mirrored[:8] ** power, mirrored[8:] ** power
        middle = 0.5 * (weights[:8] @ (left + right))
        rising, falling = (left - right) @ even, (left + right) @ odd
        ours = [middle + rising + falling, middle + rising - falling]
        exact = (mirrored ** (power + 1) - (-0.5) ** (power + 1)) / (power + 1)
        assert np.concatenate(ours) == pytest.approx(exact, abs=1e-15)


def test_factorials():
    assert table("INVERSE_FACTORIALS").tolist() == [1 / math.factorial(k) for k in range(2, 13)]

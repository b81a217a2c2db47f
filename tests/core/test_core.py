"""The compiled core: what it loads, and that a stale one is noticed."""

from pathlib import Path

import numpy as np
import pytest

from quorate import core


@pytest.mark.skipif(
    not Path(core.__file__).parents[2].joinpath("core").is_dir(), reason="an installed wheel has no sources"
)
def test_a_library_older_than_its_sources_is_refused(monkeypatch):
    monkeypatch.setattr(core, "_digest", lambda sources: "of a changed source")
    with pytest.raises(core.CoreMissing, match="older"):
        core._load()


def test_six_experts_three_have_voted():
    out = np.empty((1, 3))
    core.plurality_finite(np.ones((1, 3)), np.array([[2, 1, 0]]), np.array([6]), out, np.empty(1))
    assert out[0] == pytest.approx([0.75297619, 0.2172619, 0.0297619])


def test_an_output_may_not_overlap_an_input():
    beta = np.ones((2, 3))
    with pytest.raises(ValueError, match="overlaps"):
        core.plurality_infinite(beta, beta)

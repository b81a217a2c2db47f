"""The loop of docs/reference-loop.md, in plain NumPy and SciPy, asks and answers as the library does."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate import simulate
from quorate.datasets import synthetic
from quorate.streams import prepare
from tests.docs.tutorial_blocks import blocks_of

PAGE = Path(__file__).parents[2] / "docs" / "reference-loop.md"
SEED = 3


@pytest.fixture(scope="module")
def reference():
    (block,) = blocks_of(PAGE)
    assert len(block.text.splitlines()) <= 80
    names: dict[str, Any] = {}
    exec(block.text, names)
    return names


@pytest.mark.parametrize("method", ["finexp", "infexp"])
def test_the_readable_loop_takes_the_same_decisions(reference, method):
    data = synthetic(num_items=160, num_classes=4, pool_size=7, seed=1)
    stream = prepare(data, 7, 0, SEED)
    seen, beliefs = reference["run"](method, stream.votes, stream.mean_predictions, 0.9, window=80)
    found = simulate(data, f"{method}:threshold=0.9,window=80", seed=SEED)
    np.testing.assert_array_equal(seen.sum(axis=1), found.costs)
    answers = beliefs >= beliefs.max(axis=1, keepdims=True) - 1e-9  # a tie is drawn at random
    assert answers[np.arange(len(answers)), found.predictions].all()
    assert 0.5 < found.mean_cost < 5
    np.testing.assert_allclose(beliefs.max(axis=1), found.confidence, atol=1e-6)

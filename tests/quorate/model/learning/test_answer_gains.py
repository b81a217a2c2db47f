"""Answers without experts on CIFAR-10H: not worse than the classifier alone, and much better on a poor one."""

import numpy as np
import pytest

from quorate.datasets import load_npz
from quorate.methods import method
from quorate.streams import prepare, simulate
from quorate.streams.simulation import expected_errors

ASKED = 1000


def gain(dataset, model, seed):
    """Points over the classifier on the items after the first 1000."""
    stream = prepare(dataset, 50, model, seed, "shuffled")
    chosen = method("value", error_cost=40, window=None)
    run = simulate(dataset, chosen, pool_size=50, model=model, seed=seed, query_free_after=ASKED)
    alone = expected_errors(stream, stream.mean_predictions.argmax(axis=1))
    return 100 * (alone - expected_errors(stream, run.predictions))[ASKED:].mean()


@pytest.mark.parametrize(
    ("model", "least"), [("resnet110-94", -0.1), ("cnn-89", 0.0), ("patches-68", -0.1), ("patches-50", 2.8)]
)
def test_answers_without_experts_are_not_worse_than_the_classifier(data_dir, model, least):
    dataset = load_npz(data_dir / "cifar10h.npz")
    assert np.mean([gain(dataset, model, seed) for seed in (3, 4, 5)]) >= least

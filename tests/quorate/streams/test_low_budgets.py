"""With few votes the default answers no worse than the classifier, by more than a standard error, at any budget."""

import numpy as np
import pytest

from quorate.commands.demo import SCENARIO
from quorate.datasets import load_npz, synthetic
from quorate.datasets.arrays import vote_dataset
from quorate.methods import method
from quorate.streams import prepare
from quorate.streams.simulation import expected_errors, simulate_stream

ERROR_COSTS = (2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.7, 3.0, 4.0)  # from no vote to a vote on every tenth item, about


def against_the_classifier(streams, error_cost):
    """Votes in all, the mean difference to the classifier's share wrong, and its standard error."""
    votes, worse = 0, []
    for seed, stream in enumerate(streams):
        run = simulate_stream(stream, method("value", error_cost=error_cost), seed=seed)
        alone = expected_errors(stream, stream.log_predictions.sum(axis=1).argmax(axis=1))
        worse.append(run.expected_errors - alone)
        votes += int(run.costs.sum())
    every = np.concatenate(worse)
    return votes, every.mean(), every.std(ddof=1) / np.sqrt(len(every))


def check(streams):
    found = [against_the_classifier(streams, error_cost) for error_cost in ERROR_COSTS]
    assert found[-1][0] > 0
    assert [each for each in found if each[1] > each[2]] == []


@pytest.mark.parametrize("several", [False, True])
def test_on_built_in_streams(several):
    if several:
        sets = [synthetic(num_items=400, num_classes=5, pool_size=7, num_models=2, seed=seed) for seed in range(12)]
    else:
        sets = [SCENARIO.dataset(seed, num_items=800) for seed in range(12)]
    check([prepare(data, None, "all", seed) for seed, data in enumerate(sets)])


@pytest.mark.parametrize(
    ("name", "model"),
    [("cifar10h", 0), ("cifar10h", 1), ("chaosnli_snli", 0), ("imagenet16h_shift", 0), ("kelly_nih", 0)],
)
def test_on_real_sets(data_dir, name, model):
    if name == "kelly_nih":  # two classes, one classifier
        stored = np.load(data_dir / f"{name}.npz", allow_pickle=True)
        data = vote_dataset(stored["votes"], stored["probs"][None], classes=("normal", "abnormal"))
    else:
        data = load_npz(data_dir / f"{name}.npz")
    pool = min(10, data.votes.shape[1])
    check([prepare(data, pool, model, seed) for seed in range(2)])

import numpy as np
import pytest

from quorate.datasets import load_npz, synthetic, vote_dataset
from quorate.errors import InvalidInput
from quorate.methods import method
from quorate.model.decision.belief import POSTERIORS
from quorate.streams import prepare, simulate
from quorate.streams.paths import fixed_paths

KINDS = {"fixed-finexp": "finite", "fixed-infexp": "infinite"}


def agree(dataset, name, thresholds, *, pool_size, model, seed, most=1.0):
    paths = fixed_paths(prepare(dataset, pool_size, model, seed), POSTERIORS[KINDS[name]], most)
    costs = []
    for threshold in thresholds:
        run = simulate(dataset, method(name, threshold=threshold), pool_size=pool_size, model=model, seed=seed)
        asked, labels, confidence = paths.at(threshold)
        assert np.array_equal(asked, run.costs)
        assert np.array_equal(labels, run.predictions)
        np.testing.assert_allclose(confidence, run.confidence, rtol=0, atol=1e-9)
        costs.append(run.mean_cost)
    assert costs[0] == 0 < costs[-1]  # the thresholds were worth trying
    return paths


@pytest.mark.parametrize("name", KINDS)
def test_a_walk_read_at_any_threshold_is_the_run_at_that_threshold(name):
    dataset = synthetic(num_items=300, num_classes=4, pool_size=9, accuracy=0.6, num_models=2, seed=2)
    for model in (0, "all"):
        agree(dataset, name, np.linspace(0, 1, 21), pool_size=9, model=model, seed=5)


@pytest.mark.parametrize("name", KINDS)
def test_thresholds_that_are_met_exactly_or_missed_by_a_hair_are_read_as_they_are_run(name):
    dataset = synthetic(num_items=60, num_classes=3, pool_size=5, accuracy=0.6, seed=2)
    paths = fixed_paths(prepare(dataset, 5, 0, 5), POSTERIORS[KINDS[name]])
    met = np.unique(paths.highest[:, :3][paths.highest[:, :3] > 0])[::9]
    agree(dataset, name, [0.0, *met, *np.nextafter(met, 0), 1.0], pool_size=5, model=0, seed=5)


@pytest.mark.parametrize("name", KINDS)
def test_a_walk_may_end_at_the_largest_threshold_below_one(name):
    dataset = synthetic(num_items=200, num_classes=4, pool_size=20, accuracy=0.6, seed=2)
    paths = agree(dataset, name, (0.0, 0.4, 0.8, 1.0), pool_size=20, model=0, seed=5, most=0.8)
    whole = fixed_paths(prepare(dataset, 20, 0, 5), POSTERIORS[KINDS[name]])
    assert (paths.highest > 0).sum() < 0.9 * (whole.highest > 0).sum(), "it took fewer beliefs"
    assert np.array_equal(paths.last, whole.last)
    with pytest.raises(InvalidInput, match="threshold"):
        paths.at(0.9)


@pytest.mark.parametrize("name", KINDS)
def test_pools_of_several_sizes_are_walked_to_their_own_end(name):
    full = synthetic(num_items=200, num_classes=4, pool_size=7, accuracy=0.6, seed=2)
    votes = np.array(full.votes)
    votes[::3, 2:] = -1
    votes[::7, 1:] = -1
    dataset = vote_dataset(votes, full.predictions, classes=full.classes)
    paths = agree(dataset, name, (0.0, 0.5, 0.9, 1.0), pool_size=7, model=0, seed=5)
    assert paths.last.max() > 2 > paths.last.min()


@pytest.mark.parametrize("name", KINDS)
def test_tied_classes_are_answered_and_trusted_as_in_the_run(name):
    tied = np.full((40, 4), 0.25)
    dataset = vote_dataset(np.tile([0, 1, 2, 3], (40, 1)), tied, classes=list("abcd"))
    agree(dataset, name, (0.0, 0.26, 0.5, 1.0), pool_size=4, model=0, seed=5)


@pytest.mark.parametrize("name", KINDS)
def test_it_agrees_on_the_real_shift_set(data_dir, name):
    dataset = load_npz(data_dir / "imagenet16h_shift.npz")
    agree(dataset, name, (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0), pool_size=6, model=2, seed=3)

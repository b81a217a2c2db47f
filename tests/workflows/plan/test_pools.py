"""Pilots: which items enter, with which pools, and whether votes drawn for those not cast tell the truth."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quorate.datasets import synthetic
from quorate.methods import method
from quorate.rng import stream
from quorate.types import frozen_array
from quorate.workflows.plan.advice import band, study
from quorate.workflows.plan.curves import measure
from quorate.workflows.plan.pools import completed, learned, pilot_of

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import plan_coverage

WHOLE = synthetic(num_items=400, pool_size=6, num_classes=3, accuracy=0.8, seed=4)


def thin(data, keep):
    """The first `keep` votes of each item."""
    votes = np.array(data.votes)
    votes[np.arange(votes.shape[1]) >= np.asarray(keep)[:, None]] = -1
    return replace(data, votes=frozen_array(votes, np.int16))


HALF = thin(WHOLE, np.random.default_rng(1).integers(1, 7, size=400))


def test_votes_seen_are_kept_and_every_pool_is_filled():
    full = completed(HALF, learned(HALF), 6, rng=stream(1, "test"))
    seen = HALF.votes >= 0
    assert (full.votes[seen] == HALF.votes[seen]).all()
    assert ((full.votes >= 0) & (full.votes < 3)).all()


def test_each_ordering_and_each_resampled_pilot_draws_its_own_votes():
    pilot = pilot_of(HALF, pool_size=6)
    assert (pilot.met(1).votes == pilot.met(1).votes).all()
    assert (pilot.met(1).votes != pilot.met(2).votes).any()
    assert pilot.another(50, 1, 0).votes.shape == (50, 6)
    assert pilot_of(WHOLE, pool_size=6).met(1) is WHOLE  # nothing is missing: nothing is drawn


def test_drawn_votes_are_as_common_as_the_votes_taken_away():
    """Per class, over all items, within four standard errors of the draws and of what was taken away."""
    full, missing = completed(HALF, learned(HALF), 6, rng=stream(3, "test")), HALF.votes < 0
    drawn = np.bincount(full.votes[missing], minlength=3) / missing.sum()
    truth = np.bincount(WHOLE.votes[missing], minlength=3) / missing.sum()
    # Votes of an item go together: only the items count as trials.
    error = np.sqrt(2 * truth * (1 - truth) / missing.any(axis=1).sum())
    assert (np.abs(drawn - truth) < 4 * error).all()


@pytest.mark.parametrize(
    ("treatment", "items", "largest", "left_out", "model"),
    [("complete", 400, 6, 0, True), ("own-pool", 400, 6, 0, False), ("drop", None, 6, None, False)],
)
def test_each_treatment_does_what_it_says(treatment, items, largest, left_out, model):
    pilot = pilot_of(HALF, pool_size=6, partly_voted=treatment)
    full = int(((HALF.votes >= 0).sum(axis=1) == 6).sum())
    assert pilot.num_items == (full if items is None else items)
    assert (pilot.largest, pilot.left_out) == (largest, 400 - full if left_out is None else left_out)
    assert (pilot.model is not None) == model


def test_the_more_is_drawn_the_wider_are_the_bands():
    """Half of the votes of half of the items tell less than all of them."""
    few = thin(WHOLE, np.full(400, 2))
    widths = []
    for data in (WHOLE, few):
        found = study(pilot_of(data, pool_size=6), ["quorum"], orderings=3, batch_size=400, seed=2)
        bands = band(found.curves[0], found.ratios[0], 1.0, 0.9)
        widths.append(np.diff(bands.errors, axis=1).mean())
    assert widths[1] > widths[0]


@pytest.mark.parametrize("stopped", ["early", "random"])
def test_a_thinned_real_pilot_tells_nearly_what_the_whole_one_does(data_dir, stopped):
    """Real votes taken away, by a rule that stops early or at random: what is drawn for them must not change the plan.

    The other treatments are far off here: the votes until settled of own pools are 40 % too few.
    """
    whole = plan_coverage.load(data_dir, "kelly_nih", 0, None)
    left = plan_coverage.thinned(whole, None, 1)
    if stopped == "random":
        left = thin(whole, stream(1, "thin").integers(1, 6, size=whole.num_items))
    family = [[method("value", error_cost=cost) for cost in (50, 200)], [method("until-settled")]]
    truth, found, own = (
        measure(pilot, family, orderings=2, batch_size=pilot.num_items, seed=3)
        for pilot in (
            pilot_of(whole),
            pilot_of(left, pool_size=5),
            pilot_of(left, pool_size=5, partly_voted="own-pool"),
        )
    )
    for true, guess in zip(truth, found, strict=True):
        assert guess.votes == pytest.approx(true.votes, rel=0.15)
        assert guess.errors == pytest.approx(true.errors, abs=0.015)
    assert own[1].votes[0] < 0.75 * truth[1].votes[0]

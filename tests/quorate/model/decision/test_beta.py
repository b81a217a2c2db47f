import numpy as np
import pytest
from scipy.special import betainc
from tests.refusals import refused

from quorate.model.decision.beta import BetaStop, beta_leads


@pytest.mark.parametrize("votes", [(0, 0), (1, 0), (4, 0), (5, 3), (0, 7, 2, 6), (300, 280), (1000, 0)])
def test_it_is_the_beta_probability_of_the_leader(votes):
    second, top = sorted(votes)[-2:]
    assert beta_leads(np.array(votes)) == pytest.approx(betainc(second + 1, top + 1, 0.5), abs=1e-10)


def test_four_unanimous_votes_stop_it_at_the_usual_setting():
    assert beta_leads(np.array([3, 0])) < BetaStop().threshold <= beta_leads(np.array([4, 0]))


def test_a_threshold_above_one_is_refused():
    with refused("threshold"):
        BetaStop(1.5)

"""The people behind the votes: how far they agree, how good each one is, and who votes carelessly.

`ballots` are votes with their voters; `agreement` measures agreement without a model; `crowd` learns online how good
each person is and what the true class behind the votes is; `panel` learns how each member votes and plans whom to ask.
"""

from quorate.people.agreement import Agreement, LabelDifference, agreement_of, others_plurality
from quorate.people.ballots import Ballots
from quorate.people.bootstrap import BOOTSTRAPS, Estimate
from quorate.people.calibration import calibrated, temperature
from quorate.people.copies import CopiedPair, copied_pairs
from quorate.people.crowd import REFIT_EVERY, TYPES
from quorate.people.crowd_online import OnlineCrowd, Votes
from quorate.people.crowd_stream import FEWEST_KNOWN, REVISED, CrowdStop, run_crowd
from quorate.people.pairs import votes_side_by_side
from quorate.people.panel_online import OnlinePanel, PanelValue
from quorate.people.panel_plan import PanelAdvice, check_panel_size, is_panel
from quorate.people.person import LEAST_COST, Expert
from quorate.people.quality import PersonQuality, quality_of
from quorate.people.ranking import most_reliable_first, reliability
from quorate.people.rules import CountAtMost, DailyLimit, MustConfirm, NeverTogether, Rule, rule_data, rule_from

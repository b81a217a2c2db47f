"""What is believed and decided: prior, posterior, learning and decision."""

from quorate.model.decision.belief import (
    ASK,
    EXHAUSTED,
    NO_LIMIT,
    PEOPLE_POSTERIORS,
    POSTERIORS,
    SETTLED,
    STOP_REASONS,
    TIE_WIDTH,
    Belief,
    Packed,
    answer,
    belief,
    beliefs,
    code_of,
    reasons_of,
    stop_before_rule,
)
from quorate.model.decision.beta import BetaStop
from quorate.model.decision.blended import BlendedValue
from quorate.model.decision.counting import AskAll, Quorum, UnanimousThenCap, UntilSettled
from quorate.model.decision.error_costs import DEFAULT_ERROR_COST, NO_WEIGHTS, ErrorCosts
from quorate.model.decision.model_picker import ModelPicker
from quorate.model.decision.policy import PolicyState, QueryPolicy, invalid_policy, policy_name
from quorate.model.decision.quota import EntropyQuota, QuotaPolicy, RandomQuota
from quorate.model.decision.rules import Rule, rule_asks, rule_of
from quorate.model.decision.threshold import Threshold
from quorate.model.decision.value import optimistic_gain
from quorate.model.densities import log_dirichlet_multinomial
from quorate.model.learning.answers import Gains, classifier_alone
from quorate.model.learning.fit import fit, fit_packed
from quorate.model.learning.learner import (
    WINDOW,
    Learner,
    MapLearner,
    Window,
    fit_is_due,
    is_due,
    most_fits,
    next_params,
    refit,
)
from quorate.model.learning.problem import HyperpriorNumbers, numbers_of, pack, unpack
from quorate.model.posterior.finite import plurality_finite
from quorate.model.posterior.infinite import plurality_infinite
from quorate.model.posterior.settled import are_settled, is_settled, plurality_shares
from quorate.model.prior import HYPERPRIORS, ClassifierPrior, Hyperprior, Prior, concentration, hyperprior

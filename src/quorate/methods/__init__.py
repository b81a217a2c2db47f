"""Every method by name: its policy, beliefs, learner and parameters, and one sentence on each."""

from quorate.methods.encoding import FIELDS, differences, method_data, method_from, own_parts
from quorate.methods.entries import GROUPS, SENTENCES, MethodEntry, catalogue, parameter_text
from quorate.methods.registry import (
    ANONYMOUS,
    LEARNERS,
    METHODS,
    Method,
    Target,
    as_method,
    checked_target,
    chosen_method,
    fixed_params,
    known_target,
    method,
    parsed,
    policy_parameters,
    require_anonymous,
    with_costs,
    with_learning,
    with_parameter,
)

__all__ = [
    "ANONYMOUS",
    "LEARNERS",
    "METHODS",
    "Method",
    "Target",
    "as_method",
    "checked_target",
    "chosen_method",
    "fixed_params",
    "known_target",
    "method",
    "parsed",
    "policy_parameters",
    "require_anonymous",
    "with_costs",
    "with_learning",
    "with_parameter",
]

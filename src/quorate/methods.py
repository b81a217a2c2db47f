"""Every method by name: a policy, the belief it asks with, the belief it predicts with, and what it learns.

`method("value")` is the recommended one; the others are the paper's methods, its baselines and the rules people use
today. `method(MyPolicy())` makes a method from a user's own policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from inspect import signature
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from quorate.decision.belief import PEOPLE_POSTERIORS, Belief
from quorate.decision.beta import BetaStop
from quorate.decision.blended import BlendedValue
from quorate.decision.counting import AskAll, Quorum, UnanimousThenCap, UntilSettled
from quorate.decision.error_costs import DEFAULT_ERROR_COST, NO_WEIGHTS, ErrorCosts
from quorate.decision.model_picker import ModelPicker
from quorate.decision.policy import QueryPolicy
from quorate.decision.quota import EntropyQuota, RandomQuota
from quorate.decision.threshold import Threshold
from quorate.errors import UnknownMethod
from quorate.experts.crowd_stream import CrowdStop
from quorate.experts.panel_online import PanelValue
from quorate.learning.answers import AnswerFit
from quorate.prior import Hyperprior, hyperprior
from quorate.types import FloatArray, PriorParams
from quorate.validate import invalid

WINDOW, REFIT_EVERY = 1000, 20  # items that learning uses; closed items between two fits (see `fit_is_due`)
PANEL_ERROR_COST = 2000.0  # of panel, whose plan is exact
CROWD_THRESHOLD = 0.98
Target = Literal["plurality", "truth"]

VOTES = Belief("vote_share", learned=False)


@dataclass(frozen=True, slots=True)
class Learner:
    """How a method learns: under which hyperprior, and with or without the class bias.

    `shrinks_answers`: answers without votes use the more careful parameters of `learning.answers`. `proportional`: the
    fewer items the window has, the more often it is fitted (`learning.learner.fit_is_due`).
    """

    hyperprior: Hyperprior
    bias: bool = False
    shrinks_answers: bool = False
    proportional: bool = False


@dataclass(frozen=True, slots=True)
class Method:
    """A complete way to decide. `asking` and `predicting` may be different beliefs.

    `choose`: whom to ask first, if the people are known by name. `costs` of errors by truth and answer, if they differ.
    """

    name: str
    policy: QueryPolicy
    asking: Belief
    predicting: Belief
    learner: Learner | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    choose: str | None = None
    costs: ErrorCosts | None = None

    @property
    def weights(self) -> FloatArray:
        """(K, K) weights of errors by truth and answer, (0, 0) if all errors cost the same."""
        return NO_WEIGHTS if self.costs is None else self.costs.weights

    @property
    def target(self) -> Target:
        """What the method estimates: the plurality of the pool, or the true class behind the votes."""
        return "truth" if self.predicting.posterior.startswith("crowd") else "plurality"

    @property
    def needs_people(self) -> bool:
        """True if the method needs to know who voted."""
        return self.choose is not None or self.asking.posterior in PEOPLE_POSTERIORS

    @property
    def answers_by_people(self) -> bool:
        """True if the answer depends on who voted: then what is learned is about people."""
        return self.predicting.posterior in PEOPLE_POSTERIORS

    @property
    def prior(self) -> Hyperprior:
        """The hyperprior it learns under; the default one for a method that does not learn."""
        return self.learner.hyperprior if self.learner else hyperprior("infexp")

    def answer_fit(self) -> AnswerFit:
        """Fits the parameters for answers without votes."""
        return AnswerFit(self.prior if self.learner and self.learner.shrinks_answers else None)

    def initial_params(self, num_classes: int, num_classifiers: int = 1) -> PriorParams:
        """The parameters before the first fit: the mode of the hyperprior."""
        return self.prior.mode(num_classes, num_classifiers, with_bias=bool(self.learner and self.learner.bias))

    def describe(self) -> dict[str, Any]:
        """Name and parameters, as journals and reports store them."""
        parameters = {
            key: asdict(value) if isinstance(value, Hyperprior) else value for key, value in self.parameters.items()
        }
        return {"name": self.name, "parameters": parameters}


def _expert(posterior: Literal["finite", "infinite"], usual: str) -> Callable[..., Method]:
    def build(*, threshold: float = 0.95, hyperprior: str | Hyperprior = usual) -> Method:
        belief = Belief(posterior, learned=True)
        return Method("", Threshold(threshold), belief, belief, Learner(_hyperprior(hyperprior)))

    return build


def _fixed(posterior: Literal["finite", "infinite"]) -> Callable[..., Method]:
    def build(*, threshold: float = 0.95) -> Method:
        belief = Belief(posterior, learned=False)
        return Method("", Threshold(threshold), belief, belief)

    return build


def _fixed_ask(posterior: Literal["finite", "infinite"], usual: str) -> Callable[..., Method]:
    def build(*, threshold: float = 0.95, hyperprior: str | Hyperprior = usual) -> Method:
        asking, predicting = Belief(posterior, learned=False), Belief(posterior, learned=True)
        return Method("", Threshold(threshold), asking, predicting, Learner(_hyperprior(hyperprior)))

    return build


def _value(
    *,
    error_cost: float = DEFAULT_ERROR_COST,
    hyperprior: str | Hyperprior = "value",
    choose: str | None = None,
) -> Method:
    if choose not in (None, "agreement"):
        rule = "'agreement', which asks the people who agreed most first"
        raise invalid("choose", choose, rule, "pass it, or leave it out.")
    belief = Belief("finite", learned=True)
    learner = Learner(_hyperprior(hyperprior), bias=True, shrinks_answers=True, proportional=True)
    return Method("", BlendedValue(error_cost), belief, belief, learner, choose=choose)


def _crowd(*, threshold: float = CROWD_THRESHOLD) -> Method:
    asking, predicting = Belief("crowd", learned=True), Belief("crowd_calibrated", learned=True)
    return Method("", CrowdStop(threshold), asking, predicting)


def hyperprior_from(values: Mapping[str, float]) -> Hyperprior:
    """The hyperprior that a journal stores as a mapping."""
    known = Hyperprior.__dataclass_fields__
    for name in values:
        if name not in known:
            raise invalid("hyperprior", name, f"one of its fields: {', '.join(known)}", "use these names.")
    return Hyperprior(**values)


def _rule(policy: Callable[..., QueryPolicy]) -> Callable[..., Method]:
    def build(**parameters: object) -> Method:
        return Method("", policy(**parameters), VOTES, VOTES)

    build.__signature__ = signature(policy)  # type: ignore[attr-defined]
    return build


def _hyperprior(name: str | Hyperprior | Mapping[str, float]) -> Hyperprior:
    return hyperprior_from(name) if isinstance(name, Mapping) else hyperprior(name)


def _panel(*, error_cost: float = PANEL_ERROR_COST) -> Method:
    return Method("", PanelValue(error_cost), Belief("panel", learned=True), Belief("panel_all", learned=True))


METHODS: Mapping[str, Callable[..., Method]] = MappingProxyType(
    {
        "value": _value,
        "finexp": _expert("finite", "finexp"),
        "infexp": _expert("infinite", "infexp"),
        "fixed-finexp": _fixed("finite"),
        "fixed-infexp": _fixed("infinite"),
        "fixed-ask-finexp": _fixed_ask("finite", "finexp"),
        "fixed-ask-infexp": _fixed_ask("infinite", "infexp"),
        "random": _rule(RandomQuota),
        "entropy": _rule(EntropyQuota),
        "mp": _rule(ModelPicker),
        "ask-all": _rule(AskAll),
        "until-settled": _rule(UntilSettled),
        "quorum": _rule(Quorum),
        "unanimous-then-cap": _rule(UnanimousThenCap),
        "beta": _rule(BetaStop),
        "crowd": _crowd,
        "panel": _panel,
    }
)
DEFAULT_OF: Mapping[Target, str] = MappingProxyType({"plurality": "value", "truth": "crowd"})
NEED_PEOPLE = ("crowd", "panel")  # their decisions depend on who voted
ANONYMOUS = tuple(name for name in METHODS if name not in NEED_PEOPLE)


def default_for(
    given: str | Method | QueryPolicy | None, target: Target | None = None, *, threshold: float | None = None
) -> str | Method | QueryPolicy:
    """The given method; None: the default of the target, or `finexp` if only a threshold says how far to ask.

    >>> default_for(None, "truth"), default_for(None, threshold=0.9), default_for("infexp"), default_for(None)
    ('crowd', 'finexp', 'infexp', 'value')
    """
    if given is not None:
        return given
    if target == "truth":
        return DEFAULT_OF["truth"]
    return DEFAULT_OF["plurality"] if threshold is None else "finexp"


def known_target(given: object) -> Target:
    """The target of that name, or an error."""
    for target in DEFAULT_OF:
        if given == target:
            return target
    rule = "'plurality' (the vote of the whole pool) or 'truth' (the class behind the votes)"
    raise invalid("target", given, rule, "pass one of these.")


def checked_target(given: object, chosen: Method) -> Target:
    """The method's target, which must be the given one unless that is None."""
    if given is None or given == chosen.target:
        return chosen.target
    fix = f"use a method with this target, such as {DEFAULT_OF[known_target(given)]!r}."
    raise invalid("target", given, f"{chosen.target!r}, the target of method {chosen.name!r}", fix)


def require_anonymous(chosen: Method) -> Method:
    """The method, or an error if it needs to know who voted, which anonymous votes do not say."""
    if chosen.needs_people:
        rule = f"a method for anonymous votes; {chosen.name!r} needs to know who voted"
        raise invalid("method", chosen.name, rule, f"use one of: {', '.join(ANONYMOUS)}.", error=UnknownMethod)
    return chosen


def method(
    name: str | QueryPolicy,
    /,
    **parameters: object,
) -> Method:
    """The method of that name with its parameters, or of a text as on the command line; or one around your own policy.

    Your own policy asks and predicts with exact FinExp and a learned prior (`posterior="infinite"`, `learn=False` and
    `bias=False` change that). A parameter that is None is left out.

    >>> method("finexp", threshold=0.9).policy
    Threshold(threshold=0.9)
    >>> method("finexp:threshold=0.9") == method("finexp", threshold=0.9)
    True
    >>> sorted(METHODS)[:3]
    ['ask-all', 'beta', 'crowd']
    """
    if not isinstance(name, str):
        return _own(name, **parameters)
    spec = name
    parameters = {key: value for key, value in parameters.items() if value is not None}
    name, in_text = parsed(spec)
    if name not in METHODS:
        raise invalid("method", name, f"one of: {', '.join(METHODS)}", "choose one.", error=UnknownMethod)
    build = METHODS[name]
    known = signature(build).parameters
    for parameter, value in (*in_text, *parameters.items()):
        if parameter not in known:
            rule = f"parameters of {name}: {', '.join(known) or 'none'}"
            fix = _example(name, known, is_text=parameter in dict(in_text))
            raise invalid("method", f"{parameter}={value!r}", rule, fix, error=UnknownMethod)
    parameters = _each_once(spec, [*in_text, *parameters.items()])
    built = build(**parameters)
    return replace(built, name=name, parameters=MappingProxyType(_resolved(build, built, parameters)))


def with_parameter(spec: str, *, error_cost: float | None = None, threshold: float | None = None) -> Method:
    """The method of that text, with one of the two numbers that say how far to ask; it must be the method's own.

    >>> with_parameter("finexp", threshold=0.9).policy
    Threshold(threshold=0.9)
    """
    given = {name: value for name, value in (("error_cost", error_cost), ("threshold", threshold)) if value is not None}
    if len(given) > 1:
        raise invalid("error_cost", error_cost, "no `threshold` with it: both say how far to ask", "pass one of them.")
    name, _ = parsed(spec)
    own = [*signature(METHODS[name]).parameters] if name in METHODS else [*given]
    for parameter, value in given.items():
        if parameter not in own:
            rule = f"the parameter of {name}, which has {own[0] if own else 'none'}"
            raise invalid(parameter, value, rule, "pass that one, or another method.", error=UnknownMethod)
    return method(spec, **given)


def chosen_method(
    given: str | Method | QueryPolicy | None,
    *,
    target: Target | None = None,
    error_cost: float | None = None,
    threshold: float | None = None,
) -> Method:
    """The given method, or the default, with the number that says how far to ask; a Method object has its own."""
    spec = default_for(given, target, threshold=threshold)
    if isinstance(spec, str):
        return with_parameter(spec, error_cost=error_cost, threshold=threshold)
    for name, value in (("error_cost", error_cost), ("threshold", threshold)):
        if value is not None:
            rule = "a `method` given by name: a Method object has its own parameters"
            raise invalid(name, value, rule, f"set the {name} of the method.")
    return as_method(spec)


def with_costs(chosen: Method, costs: ErrorCosts) -> Method:
    """The method with these costs of errors by truth and answer; they replace its single `error_cost`."""
    own = chosen.parameters.get("error_cost")
    if own is not None and own != method(chosen.name).parameters["error_cost"]:
        rule = f"one of a number and a table: method {chosen.name!r} has the number {own:g}"
        raise invalid("error_cost", "a table", rule, "leave the number of the method out.")
    return replace(chosen, costs=costs)


def parsed(spec: str) -> tuple[str, list[tuple[str, object]]]:
    """The name and the parameters of `name:parameter=value,parameter=value`.

    >>> parsed("unanimous-then-cap:first=3,cap=5")
    ('unanimous-then-cap', [('first', 3), ('cap', 5)])
    """
    name, _, rest = spec.strip().partition(":")
    return name, [_parameter(part, spec) for part in rest.split(",") if part.strip()]


def _parameter(text: str, spec: str) -> tuple[str, object]:
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value):
        rule = f"the name of a method, a colon, and parameters as name=value, not {text!r}"
        raise invalid("method", spec, rule, "write e.g. value:error_cost=100.", error=UnknownMethod)
    return key, _typed(value)


def _typed(text: str) -> bool | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _each_once(spec: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key in found if [other for other, _ in pairs].count(key) > 1)
        values = " and ".join(repr(value) for key, value in pairs if key == twice)
        raise invalid("method", spec, f"one value for each parameter; {twice} has several: {values}", "pass one.")
    return found


def _example(name: str, known: Mapping[str, Any], *, is_text: bool) -> str:
    """A parameter with its default, as it is written where the wrong one stands: in text, or as an argument."""
    if not known:
        return "leave it out."
    usual = method(name).parameters
    first = next(key for key in known if key in usual)
    value = usual[first]
    return f"write e.g. '{name}:{first}={value}'." if is_text else f"pass e.g. {first}={value!r}."


def as_method(given: Method | str | QueryPolicy) -> Method:
    """A method unchanged, the method of that name with its defaults, or a method around a policy."""
    if isinstance(given, Method):
        return given
    if isinstance(given, str) or (isinstance(given, QueryPolicy) and not isinstance(given, type)):
        return method(given)
    raise invalid("method", given, "a name, quorate.method(...) or a policy of your own", "pass one of these.")


def _resolved(build: Callable[..., Method], built: Method, parameters: Mapping[str, object]) -> dict[str, object]:
    """Every parameter with its effective value; the hyperprior only if it is not the method's own."""
    defaults = {key: parameter.default for key, parameter in signature(build).parameters.items()}
    values = {key: _plain(value) for key, value in {**defaults, **parameters}.items() if value is not None}
    if built.learner is not None and built.learner.hyperprior == hyperprior(defaults["hyperprior"]):
        del values["hyperprior"]
    if isinstance(built.policy, (BlendedValue, PanelValue)):
        values["error_cost"] = built.policy.error_cost
    return values


def _plain(value: object) -> object:
    """A NumPy number as a Python number, for JSON."""
    return value.item() if isinstance(value, np.generic) else value


def _own(
    policy: QueryPolicy,
    *,
    posterior: object = "finite",
    learn: object = True,
    bias: object = True,
    **unknown: object,
) -> Method:
    if isinstance(policy, type) or not isinstance(policy, QueryPolicy):
        rule = "an instance of a policy, with name, init, quota, asks and update"
        raise invalid("method", policy, rule, "run quorate.testing.check_policy on it.", error=UnknownMethod)
    for name, value in unknown.items():
        rule = "a parameter of a method around your own policy: posterior, learn, bias"
        raise invalid(name, value, rule, "use one of these.", error=UnknownMethod)
    if posterior not in ("finite", "infinite"):
        raise invalid("posterior", posterior, "'finite' (the actual pool) or 'infinite'", "pass one of these.")
    belief = Belief(posterior, learned=bool(learn))
    learner = Learner(hyperprior("infexp"), bias=bool(bias), shrinks_answers=True) if learn else None
    parameters: dict[str, Any] = {"posterior": posterior, "learn": bool(learn), "bias": bool(bias)}
    if is_dataclass(policy):
        parameters["policy"] = asdict(policy)
    return Method(f"own:{policy.name}", policy, belief, belief, learner, MappingProxyType(parameters))

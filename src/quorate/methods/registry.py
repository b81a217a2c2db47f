"""A method is built from parts: a policy, a prior, a learner, and the posterior of the winner. `Method` holds them.

`method("value")` is the recommended one; the others are the paper's methods, its baselines and the rules people use
today. `Method(policy=MyPolicy(), learner="finexp")` has a policy of your own; a prior or a learner may be your own too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import signature
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from quorate.errors import UnknownMethod
from quorate.model import (
    DEFAULT_ERROR_COST,
    HYPERPRIORS,
    NO_WEIGHTS,
    PEOPLE_POSTERIORS,
    WINDOW,
    AskAll,
    Belief,
    BetaStop,
    BlendedValue,
    ClassifierPrior,
    EntropyQuota,
    ErrorCosts,
    Hyperprior,
    Learner,
    MapLearner,
    ModelPicker,
    Prior,
    QueryPolicy,
    Quorum,
    RandomQuota,
    Threshold,
    UnanimousThenCap,
    UntilSettled,
    policy_name,
)
from quorate.model import hyperprior as find_hyperprior
from quorate.people import CrowdStop, PanelValue
from quorate.types import FloatArray, Params, PriorParams
from quorate.validate import invalid

PANEL_ERROR_COST = 2000.0  # of panel, whose plan is exact
CROWD_THRESHOLD = 0.98
Target = Literal["plurality", "truth"]
Posterior = Literal["finite", "infinite", "vote_share", "crowd", "panel"]
_ANSWERING = {"crowd": "crowd_calibrated", "panel": "panel_all"}  # posteriors that answer by another than they ask

OUR_PRIOR = ClassifierPrior()
LEARNERS: Mapping[str, MapLearner] = MappingProxyType(
    {  # the paper's settings, then ours
        "finexp": MapLearner(HYPERPRIORS["finexp"], window=500, refit_every=20),
        "infexp": MapLearner(HYPERPRIORS["infexp"], window=500, refit_every=20),
        "value": MapLearner(
            HYPERPRIORS["value"], window=1000, refit_every=20, bias=True, proportional=True, proves_answers=True
        ),
    }
)


@dataclass(frozen=True, slots=True, init=False)
class Method:
    """A complete way to decide. Each part is an object, or the name of a method that has the part.

    `policy` asks one more expert, or stops   `prior` prediction and parameters -> alpha   `learner` votes in the
    window -> parameters; None: theta = phi = tau = 1   `posterior` of the winner, given alpha and the votes
    `asks_fixed`: asks with theta = phi = tau = 1, and only answers with what was learned (two phases)
    `choose`: whom to ask first, if people are known by name   `costs` of errors by truth and answer, if they differ

    >>> Method(policy=Threshold(0.9), learner="finexp") == replace(method("finexp", threshold=0.9), name="threshold")
    True
    """

    policy: QueryPolicy
    prior: Prior
    learner: Learner | None
    posterior: Posterior
    asks_fixed: bool
    choose: str | None
    costs: ErrorCosts | None
    name: str

    def __init__(
        self,
        *,
        policy: QueryPolicy | str = "value",
        prior: Prior | str = OUR_PRIOR,
        learner: Learner | str | None = LEARNERS["value"],
        posterior: Posterior = "finite",
        asks_fixed: bool = False,
        choose: str | None = None,
        costs: ErrorCosts | None = None,
        name: str | None = None,
    ) -> None:
        parts = {
            "policy": _part("policy", policy),
            "prior": _part("prior", prior),
            "learner": _part("learner", learner),
        }
        others = {"posterior": posterior, "asks_fixed": bool(asks_fixed), "choose": choose, "costs": costs}
        for field, value in (parts | others).items():
            object.__setattr__(self, field, value)
        object.__setattr__(self, "name", name or policy_name(self.policy))
        if posterior not in ("finite", "infinite", "vote_share", *_ANSWERING):
            raise invalid("posterior", posterior, "'finite' (the actual pool) or 'infinite'", "pass one of these.")
        if choose not in (None, "agreement"):
            rule = "'agreement', which asks the people who agreed most first"
            raise invalid("choose", choose, rule, "pass it, or leave it out.")

    @property
    def asking(self) -> Belief:
        """The belief it asks with."""
        return Belief(self.posterior, learned=self._learns and not self.asks_fixed)

    @property
    def predicting(self) -> Belief:
        """The belief it answers with."""
        return Belief(_ANSWERING.get(self.posterior, self.posterior), learned=self._learns)  # type: ignore[arg-type]

    @property
    def _learns(self) -> bool:
        return self.learner is not None or self.posterior in _ANSWERING

    @property
    def weights(self) -> FloatArray:
        """(K, K) weights of errors by truth and answer, (0, 0) if all errors cost the same."""
        return NO_WEIGHTS if self.costs is None else self.costs.weights

    @property
    def target(self) -> Target:
        """What the method estimates: the plurality of the pool, or the true class behind the votes."""
        return "truth" if self.posterior == "crowd" else "plurality"

    @property
    def needs_people(self) -> bool:
        """True if the method needs to know who voted."""
        return self.choose is not None or self.answers_by_people

    @property
    def answers_by_people(self) -> bool:
        """True if the answer depends on who voted: then what is learned is about people."""
        return self.posterior in PEOPLE_POSTERIORS

    @property
    def is_ours(self) -> bool:
        """True if the prior and the learner are those of this library, which compiled streams need."""
        return type(self.prior) is ClassifierPrior and (self.learner is None or type(self.learner) is MapLearner)

    @property
    def map_learner(self) -> MapLearner | None:
        """The learner, if it is ours."""
        return self.learner if isinstance(self.learner, MapLearner) else None

    @property
    def window(self) -> int | None:
        """How many items with votes are kept for learning; None: all."""
        size: int | None = getattr(self.learner, "window", WINDOW)
        return size

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What differs, or may differ, from the method of this name: the policy's parameters, and parts not its own."""
        values = policy_parameters(self) | ({} if self.choose is None else {"choose": self.choose})
        usual = METHODS[self.name]() if self.name in METHODS else Method(policy=self.policy)
        if type(self.policy) is not type(usual.policy):
            values["policy"] = type(self.policy).__name__
        for part in ("prior", "posterior", "asks_fixed"):
            if getattr(self, part) != getattr(usual, part):
                values[part] = _shown(getattr(self, part))
        if self.map_learner is None or usual.map_learner is None:
            return values | ({} if self.learner == usual.learner else {"learner": _shown(self.learner)})
        for field in fields(self.map_learner):
            value = getattr(self.map_learner, field.name)
            if value != getattr(usual.map_learner, field.name):
                values[field.name] = _shown(value)
        return values

    @property
    def label(self) -> str:
        """The name, with every parameter that is not the method's own: different methods have different labels.

        >>> method("finexp").label, method("finexp", hyperprior="infexp", threshold=0.9).label
        ('finexp', 'finexp:threshold=0.9,hyperprior=infexp')
        """
        usual = METHODS[self.name]().parameters if self.name in METHODS else {}
        own = [f"{key}={value}" for key, value in self.parameters.items() if key not in usual or value != usual[key]]
        return f"{self.name}:{','.join(own)}" if own else self.name

    def describe(self) -> dict[str, Any]:
        """Name and parameters, for reports; journals store the whole method (`method_data`)."""
        return {"name": self.name, "parameters": dict(self.parameters)}

    @property
    def proves_answers(self) -> bool:
        """True if answers without votes are the classifier's until what was learned has proved better."""
        return self.is_ours and self.map_learner is not None and self.map_learner.proves_answers

    def initial_params(self, num_classes: int, num_classifiers: int = 1) -> Params:
        """The parameters before the first fit: the mode of the hyperprior; theta = phi = tau = 1 without a learner."""
        start = getattr(self.learner, "start", None)
        return fixed_params(num_classes, num_classifiers) if start is None else start(num_classes, num_classifiers)


def fixed_params(num_classes: int, num_classifiers: int = 1) -> PriorParams:
    """theta = phi = tau = 1 (the paper's Fixed); with M classifiers tau is 1 / M for each."""
    shape = (num_classes,) if num_classifiers == 1 else (num_classifiers, num_classes)
    return PriorParams(1.0, 1.0, np.full(shape, 1.0 / num_classifiers))


def policy_parameters(chosen: Method) -> dict[str, Any]:
    """The parameters of the policy with their current values, if it is a dataclass: those that `tune` may change.

    >>> policy_parameters(method("value", error_cost=50)), policy_parameters(method("until-settled"))
    ({'error_cost': 50.0}, {})
    """
    policy: Any = chosen.policy
    if not is_dataclass(policy):
        return {}
    return {field.name: _plain(getattr(policy, field.name)) for field in fields(policy) if field.init}


def _plain(value: object) -> object:
    """A NumPy number as a Python number, for JSON."""
    return value.item() if isinstance(value, np.generic) else value


def _part(field: str, given: Any) -> Any:  # noqa: ANN401
    """A part as it is, or that of the method named."""
    if isinstance(given, str) and parsed(given)[0] not in METHODS:
        raise invalid(field, given, f"one of: {', '.join(METHODS)}", "choose one.", error=UnknownMethod)
    found = getattr(method(given), field) if isinstance(given, str) else given
    needed = {"policy": QueryPolicy, "prior": Prior, "learner": Learner}[field]
    if isinstance(found, type) or not (isinstance(found, needed) or (found is None and field == "learner")):
        rule = f"the name of a method, or an object with {_CALLED[field]}()"
        raise invalid(field, given, rule, "run quorate.testing.check_method on it.", error=UnknownMethod)
    return found


_CALLED = {"policy": "ask", "prior": "alpha", "learner": "learn"}


def _shown(value: object) -> object:
    """A value of a part as it is written in a text: a named hyperprior by its name, an object by its class.

    >>> _shown(Hyperprior(theta=(4, 1), bias_sd=0.5))
    '(bias_sd 0.5, theta 4/1)'
    """
    if isinstance(value, Hyperprior):
        names = {known: name for name, known in HYPERPRIORS.items()}
        own = {each.name: getattr(value, each.name) for each in fields(value)}
        texts = (
            f"{name} {'/'.join(f'{part:g}' for part in np.atleast_1d(given))}"
            for name, given in own.items()
            if given != getattr(Hyperprior(), name)
        )
        return names.get(value) or f"({', '.join(texts)})"
    return value if value is None or isinstance(value, (bool, int, float, str)) else type(value).__name__


def _learned(usual: str, posterior: Posterior, *, asks_fixed: bool = False) -> Callable[..., Method]:
    usual_learner = LEARNERS[usual]

    def build(
        *,
        threshold: float = 0.95,
        hyperprior: str | Hyperprior = usual_learner.hyperprior,
        window: int | None = usual_learner.window,
        refit_every: int | None = usual_learner.refit_every,
    ) -> Method:
        learner = _learner(usual_learner, hyperprior, window, refit_every)
        return Method(policy=Threshold(threshold), learner=learner, posterior=posterior, asks_fixed=asks_fixed)

    return build


def _fixed(posterior: Posterior) -> Callable[..., Method]:
    def build(*, threshold: float = 0.95) -> Method:
        return Method(policy=Threshold(threshold), learner=None, posterior=posterior)

    return build


def _value(
    *,
    error_cost: float = DEFAULT_ERROR_COST,
    choose: str | None = None,
    hyperprior: str | Hyperprior = LEARNERS["value"].hyperprior,
    window: int | None = LEARNERS["value"].window,
    refit_every: int | None = LEARNERS["value"].refit_every,
) -> Method:
    learner = _learner(LEARNERS["value"], hyperprior, window, refit_every)
    return Method(policy=BlendedValue(error_cost), learner=learner, choose=choose)


def _learner(own: MapLearner, hyperprior: str | Hyperprior, window: int | None, refit_every: int | None) -> MapLearner:
    return replace(own, hyperprior=find_hyperprior(hyperprior), window=window, refit_every=refit_every)


def _rule(policy: Callable[..., QueryPolicy], posterior: Posterior = "vote_share") -> Callable[..., Method]:
    def build(**parameters: object) -> Method:
        return Method(policy=policy(**parameters), learner=None, posterior=posterior)

    build.__signature__ = signature(policy)  # type: ignore[attr-defined]
    return build


def _crowd(*, threshold: float = CROWD_THRESHOLD) -> Method:
    return _rule(CrowdStop, "crowd")(threshold=threshold)


def _panel(*, error_cost: float = PANEL_ERROR_COST) -> Method:
    return _rule(PanelValue, "panel")(error_cost=error_cost)


METHODS: Mapping[str, Callable[..., Method]] = MappingProxyType(
    {
        "value": _value,
        "finexp": _learned("finexp", "finite"),
        "infexp": _learned("infexp", "infinite"),
        "fixed-finexp": _fixed("finite"),
        "fixed-infexp": _fixed("infinite"),
        "fixed-ask-finexp": _learned("finexp", "finite", asks_fixed=True),
        "fixed-ask-infexp": _learned("infexp", "infinite", asks_fixed=True),
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


def method(given: str | QueryPolicy, /, **parameters: Any) -> Method:  # noqa: ANN401
    """The method of that name with its parameters, or of a text as on the command line.

    Other parts (`Method`) are keywords, too: `method("finexp", prior=MyPrior(), name="mine")`. A policy of your own
    makes a method that is otherwise `value`. A parameter that is None is left out.

    >>> method("finexp", threshold=0.9).policy
    Threshold(threshold=0.9)
    >>> method("finexp:threshold=0.9") == method("finexp", threshold=0.9)
    True
    >>> sorted(METHODS)[:3]
    ['ask-all', 'beta', 'crowd']
    """
    if not isinstance(given, str):
        return Method(policy=given, **parameters)
    parts = {key: parameters.pop(key) for key in _PARTS if key in parameters}
    parameters = {key: value for key, value in parameters.items() if value is not None or key in _NONE_IS_ALL}
    name, in_text = parsed(given)
    if name not in METHODS:
        raise invalid("method", name, f"one of: {', '.join(METHODS)}", "choose one.", error=UnknownMethod)
    build = METHODS[name]
    known = signature(build).parameters
    for parameter, value in (*in_text, *parameters.items()):
        if parameter not in known:
            rule = f"parameters of {name}: {', '.join(known) or 'none'}"
            fix = _example(name, known, is_text=parameter in dict(in_text))
            raise invalid("method", f"{parameter}={value!r}", rule, fix, error=UnknownMethod)
    parameters_once = _each_once(given, [*in_text, *parameters.items()])
    settings = [key for key in parameters_once if key in ("hyperprior", "window", "refit_every")]
    if "learner" in parts and settings:
        raise invalid(
            settings[0], parameters_once[settings[0]], "no value beside `learner`, which has its own", "leave it out."
        )
    return replace(build(**parameters_once), **{"name": name} | parts)


_PARTS = ("prior", "learner", "posterior", "asks_fixed", "costs", "name")
_NONE_IS_ALL = ("window", "refit_every")


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


def with_learning(chosen: Method, **changes: Any) -> Method:  # noqa: ANN401
    """The method with changes of its learner (`MapLearner`); unchanged if it does not learn.

    >>> with_learning(method("finexp"), window=None).window is None, with_learning(method("random"), window=None).label
    (True, 'random')
    """
    current = chosen.map_learner
    return chosen if current is None else replace(chosen, learner=replace(current, **changes))


def with_costs(chosen: Method, costs: ErrorCosts) -> Method:
    """The method with these costs of errors by truth and answer; they replace its single `error_cost`."""
    own = policy_parameters(chosen).get("error_cost")
    if own is not None and own != policy_parameters(method(chosen.name))["error_cost"]:
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
    """A method unchanged, the method of that name with its defaults, or a method with that policy."""
    if isinstance(given, Method):
        return given
    if isinstance(given, str) or (isinstance(given, QueryPolicy) and not isinstance(given, type)):
        return method(given)
    raise invalid("method", given, "a name, quorate.Method(...) or a policy of your own", "pass one of these.")

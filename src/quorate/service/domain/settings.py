"""The settings of a project: `ProjectSettings`, checked once, stored as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from quorate.decision.policy import Stateless
from quorate.decision.quota import QuotaPolicy
from quorate.errors import shown
from quorate.methods import WINDOW, Method, require_anonymous
from quorate.methods import method as build_method
from quorate.service.domain.cost import check_pool
from quorate.session.state import Settings
from quorate.session.tuning import policy_parameters
from quorate.streams.control import BudgetControl, rule_parameter
from quorate.streams.target_error import TargetErrorControl
from quorate.validate import bounded, class_names, fraction, invalid, members, vote_limits, whole

LOWEST_RATE = "the bound on wrong answers relies on the lowest rate since the first draw"
MOST_CLASSES = 200
MOST_MODELS = 20
MOST_LETTERS = 100  # in the name of a class
LEAST_SHARE = 1e-6  # smallest target_error, and smallest audit_rate above 0
LEAST_BUDGET = 0.01  # votes per item
MOST_PRICE = 1e9
MOST_GOLD = 0.5  # largest share of the items given out
LIMITED = ("pool_size", "min_votes", "max_votes", "threshold", "budget", "method")  # checked together (`check_limits`)
RANGED = ("target_error", "audit_rate", "budget", "price")  # checked each by itself (`_check_ranges`)
FIXED = ("classes", "models", "method", "seed")  # past events rely on these


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSettings:
    """One project's settings.

    `classes` that experts choose from   `pool_size` N: the pool whose plurality is the truth   `models` names of the
    classifiers, one prediction each per item   `method` by name, with parameters as in "finexp:threshold=0.9"
    `threshold`, `budget` (votes per item), `target_error`: at most one   `price` of a vote, for display   `min_votes`,
    `max_votes` per item   `audit_rate` share of closed, unsettled items drawn for the audit   `lease_seconds` an item
    is reserved for its voter   `seed` of ties and audit draws   `display_names` that pages show instead of classes
    `gold_share` of the items given out that are gold, if there are any   `adjudicate_below` this confidence closed
    items wait for a senior's verdict, as do ties of a whole pool

    >>> ProjectSettings(classes=["cat", "dog"], pool_size=5).session().method.name
    'value'
    """

    classes: tuple[str, ...]
    pool_size: int
    models: tuple[str, ...] = ("classifier",)
    method: str = "value"
    threshold: float | None = None
    budget: float | None = None
    target_error: float | None = None
    price: float = 0.0
    currency: str = ""
    instructions: str = ""
    min_votes: int = 0
    max_votes: int | None = None
    audit_rate: float = 0.05
    lease_seconds: float = 120.0
    seed: int = 0
    display_names: dict[str, str] = field(default_factory=dict)
    gold_share: float = 0.05
    adjudicate_below: float | None = None

    def __post_init__(self) -> None:
        """Check and normalise all settings."""
        put = object.__setattr__
        put(self, "classes", _names(self.classes))
        put(self, "models", _models(self.models))
        put(self, "display_names", _display_names(self.display_names, self.classes))
        put(self, "pool_size", members(self.pool_size))
        for name, least in (("min_votes", 0), ("seed", 0)):
            put(self, name, whole(getattr(self, name), where=name, least=least))
        if self.max_votes is not None:
            put(self, "max_votes", whole(self.max_votes, where="max_votes", least=0))
        vote_limits(self.min_votes, self.max_votes)
        put(self, "price", bounded(self.price, where="price", least=0.0))
        if self.adjudicate_below is not None:
            put(self, "adjudicate_below", fraction(self.adjudicate_below, where="adjudicate_below"))
        put(self, "audit_rate", fraction(self.audit_rate, where="audit_rate"))
        put(self, "gold_share", bounded(self.gold_share, where="gold_share", least=0.0, most=MOST_GOLD))
        put(self, "lease_seconds", bounded(self.lease_seconds, where="lease_seconds", least=5.0, most=86400.0))
        for name, most in (("currency", 8), ("instructions", 10_000)):
            put(self, name, _text(getattr(self, name), where=name, most=most))
        self._check_goal()
        goal_control(self)  # refuses a method without a parameter to steer
        chosen = self.chosen_method()
        if not isinstance(chosen.policy, (Stateless, QuotaPolicy)):
            rule = "a method without a state of past items, which workers cannot share"
            raise invalid("method", chosen.name, rule, "choose another, e.g. 'value'.")

    def _check_goal(self) -> None:
        given = [name for name in ("threshold", "budget", "target_error") if getattr(self, name) is not None]
        if len(given) > 1:
            rule = f"no other goal together with `{given[0]}`: each decides when to stop"
            raise invalid(given[1], getattr(self, given[1]), rule, "pass one of them.")
        if self.budget is not None and bounded(self.budget, where="budget", least=0.0) == 0:
            raise invalid("budget", 0, "votes per item above 0", "raise it.")
        if self.target_error is not None:
            if fraction(self.target_error, where="target_error") == 0:
                raise invalid("target_error", 0, "a share above 0", "to be certain use method 'until-settled'.")
            if self.audit_rate == 0:
                rule = "a share above 0 with a `target_error`, which is controlled by audits"
                raise invalid("audit_rate", 0, rule, "pass e.g. `audit_rate=0.05`.")

    def check_limits(self) -> None:
        """Raise unless vote limits and goal fit the pool and the classes, and a decision is fast enough.

        Checked when settings are chosen, not when they are read, so that projects of older versions stay readable.
        """
        check_pool(self.chosen_method(), len(self.classes), self.pool_size)
        self._check_ranges()
        threshold, least = parameters_of(self).get("threshold"), 1 / len(self.classes)
        if threshold is not None and self.target_error is None and threshold <= least:
            meant = f"did you mean {100 * threshold:g}? Raise" if threshold <= 0.01 else "raise"
            num = len(self.classes)
            rule = f"a share above {least:.3g} (1 / {num} classes), or every item would close without a vote"
            raise invalid("threshold", threshold, rule, f"{meant} it.")
        if self.budget is not None and self.budget > self.pool_size:
            why = "an item cannot get more votes than the pool has experts"
            rule = f"at most `pool_size`, which is {self.pool_size}: {why}"
            raise invalid("budget", self.budget, rule, "lower it.")
        if self.budget is not None and self.budget < self.min_votes:
            rule = f"at least `min_votes`, which is {self.min_votes}: every item gets at least that many votes"
            raise invalid("budget", self.budget, rule, "raise it, or lower `min_votes`.")
        if self.max_votes is not None and self.max_votes < 1:
            fix = "raise it, or leave it out to ask up to the whole pool."
            raise invalid("max_votes", self.max_votes, "at least 1, or every item would close without a vote", fix)
        if self.min_votes > self.pool_size:
            rule = f"at most `pool_size`, which is {self.pool_size}"
            raise invalid("min_votes", self.min_votes, rule, "lower `min_votes` or raise `pool_size`.")

    def _check_ranges(self) -> None:
        """Refuse numbers that are meaninglessly small or large, or not exact in arithmetic."""
        if self.target_error is not None:
            bounded(self.target_error, where="target_error", least=LEAST_SHARE, most=1.0)
        if self.audit_rate > 0:
            bounded(self.audit_rate, where="audit_rate", least=LEAST_SHARE, most=1.0)
        if self.budget is not None:
            bounded(self.budget, where="budget", least=LEAST_BUDGET)
        bounded(self.price, where="price", least=0.0, most=MOST_PRICE)

    def chosen_method(self) -> Method:
        """The method with its parameters, including the threshold."""
        name = "finexp" if self.threshold is not None and self.method == "value" else self.method
        return require_anonymous(build_method(name, threshold=self.threshold))

    def shown(self, name: str) -> str:
        """The name that pages show for a class."""
        return self.display_names.get(name, name)

    @property
    def shown_classes(self) -> tuple[str, ...]:
        """The names that pages show for the classes, in order."""
        return tuple(map(self.shown, self.classes))

    def by_model(self, rows: Sequence[Sequence[float]]) -> dict[str, dict[str, float]]:
        """Values (M, K) by the names of classifiers and classes."""
        named = zip(self.models, rows, strict=True)
        return {model: dict(zip(self.classes, row, strict=True)) for model, row in named}

    def session(self) -> Settings:
        """The settings of the session core, without refits: the service does the learning."""
        return Settings(
            method=self.chosen_method(),
            classes=self.classes,
            pool_size=self.pool_size,
            window=WINDOW,
            refit_every=None,
            seed=self.seed,
            num_classifiers=len(self.models),
            min_votes=self.min_votes,
            max_votes=self.max_votes,
        )

    def as_json(self) -> dict[str, Any]:
        """Every setting, by name."""
        return asdict(self) | {"classes": list(self.classes), "models": list(self.models)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The settings as `as_json` wrote them; unknown names are an error."""
        known = [each.name for each in fields(cls)]
        for name in content:
            if name not in known:
                rule = f"one of the settings: {', '.join(known)}"
                raise invalid(name, content[name], rule, "correct the name.")
        for name in ("classes", "pool_size"):
            if name not in content:
                raise invalid(name, None, "a value: every project needs one", "pass one.")
        return cls(**content)

    def changed(self, **changes: Any) -> Self:  # noqa: ANN401
        """The settings with changes. What past decisions rely on cannot change, except the policy's parameters."""
        for name, value in changes.items():
            if name in FIXED and not self._same(name, value):
                rule = f"{shown(getattr(self, name))}, which cannot change in a project"
                raise invalid(name, value, rule, "start a new project to change it.")
        after = replace(self, **changes)
        if any(getattr(after, name) != getattr(self, name) for name in LIMITED):  # unchanged old values stay allowed
            after.check_limits()
        if any(getattr(after, name) != getattr(self, name) for name in RANGED):
            after._check_ranges()
        if parameters_of(after).keys() != parameters_of(self).keys():
            rule = f"none: this project's rule has {', '.join(parameters_of(self))}, and past decisions rely on it"
            fix = "change its value, or start a new project with another rule."
            raise invalid("threshold", after.threshold, rule, fix)
        if _lasting(after) != _lasting(self):
            fixed = ", ".join(f"{name}={value}" for name, value in _lasting(self).items())
            rule = f"{fixed or 'a method without further parameters'}, on which past decisions rely"
            may = ", ".join(parameters_of(self)) or "nothing"
            fix = f"leave the rest unchanged: only {may} can change in a project."
            raise invalid("method", after.method, rule, fix)
        if after.audit_rate < self.audit_rate:
            rule = f"at least {self.audit_rate:g}: {LOWEST_RATE}"
            raise invalid("audit_rate", after.audit_rate, rule, "raise it, or start a new project.")
        return after

    def _same(self, name: str, value: object) -> bool:
        now = getattr(self, name)
        if name == "method":  # its parameters may change: that is a "tune" event
            return isinstance(value, str) and value.partition(":")[0].strip() == now.partition(":")[0].strip()
        if isinstance(now, tuple):
            return isinstance(value, (list, tuple)) and tuple(value) == now
        return bool(value == now)


def rule_for_people(num_people: int) -> str:
    """The rule for the pool size with this many voters."""
    return f"at most {num_people}, the number of people who vote: otherwise items may never close"


def goal_control(settings: ProjectSettings) -> BudgetControl | TargetErrorControl | None:
    """A new controller of the project's budget or target error; None without such a goal."""
    if settings.budget is not None:
        rule = rule_parameter(settings.chosen_method())
        return BudgetControl(settings.budget, pool_size=settings.pool_size, rule=rule)
    if settings.target_error is not None:
        return target_control(settings, settings.target_error)
    return None


def target_control(settings: ProjectSettings, target: float) -> TargetErrorControl:
    """A new controller of a target error, as in `quorate run`."""
    rule = rule_parameter(settings.chosen_method())
    return TargetErrorControl(target, audit_rate=settings.audit_rate, pool_size=settings.pool_size, rule=rule)


def parameters_of(settings: ProjectSettings) -> dict[str, Any]:
    """The policy's initial parameters with these settings."""
    control = goal_control(settings)
    return policy_parameters(settings.chosen_method()) | ({} if control is None else control.parameters)


def _lasting(settings: ProjectSettings) -> dict[str, Any]:
    """The parameters of the method that no "tune" event changes: those of learning."""
    chosen = settings.chosen_method()
    return {name: value for name, value in chosen.parameters.items() if name not in policy_parameters(chosen)}


def _names(classes: object) -> tuple[str, ...]:
    if isinstance(classes, str) or not isinstance(classes, (list, tuple)):
        raise invalid("classes", classes, "a list of names", "pass e.g. ['cat', 'dog'].")
    if len(classes) > MOST_CLASSES:
        raise invalid("classes", f"{len(classes)} names", f"at most {MOST_CLASSES}", "merge some.")
    names = class_names(classes)
    for name in names:
        _text(name, where="classes", most=MOST_LETTERS)
    return names


def _display_names(given: object, classes: tuple[str, ...]) -> dict[str, str]:
    """The names that differ from their class, in the order of the classes; all shown names must differ."""
    if not isinstance(given, Mapping):
        raise invalid("display_names", given, "a text for each class to rename", "pass e.g. {'cat': 'Cat'}.")
    for name, text in given.items():
        if name not in classes:
            raise invalid("display_names", name, f"one of the classes: {', '.join(classes)}", "correct the class.")
        if not isinstance(text, str) or not text.strip() or len(text) > MOST_LETTERS or not text.isprintable():
            rule = f"1 to {MOST_LETTERS} printable characters, not only spaces"
            raise invalid("display_names", text, rule, "choose another, or leave it out to show the class.")
    shown = {name: given[name].strip() if name in given else name for name in classes}
    for name, text in shown.items():
        if list(shown.values()).count(text) > 1 and name in given:
            raise invalid("display_names", text, "a name that no other class has", "choose another.")
    return {name: text for name, text in shown.items() if text != name}


def _models(models: object) -> tuple[str, ...]:
    if isinstance(models, str) or not isinstance(models, (list, tuple)) or not 1 <= len(models) <= MOST_MODELS:
        rule = f"a list of 1 to {MOST_MODELS} names, one per classifier"
        raise invalid("models", models, rule, "pass e.g. ['resnet'].")
    names = tuple(_text(name, where="models", most=100) for name in models)
    if len(set(names)) != len(names) or "" in names:
        raise invalid("models", list(names), "different, non-empty names", "rename one.")
    return names


def _text(value: object, *, where: str, most: int) -> str:
    if not isinstance(value, str) or len(value) > most or "\x00" in value:
        raise invalid(where, value, f"text of at most {most} characters", "shorten it.")
    return value

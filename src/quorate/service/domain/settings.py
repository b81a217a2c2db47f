"""What the owner of a project chooses: `ProjectSettings`, checked once, stored as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from quorate.catalogue import parse_method
from quorate.decision.policy import Stateless
from quorate.decision.quota import QuotaPolicy
from quorate.errors import shown
from quorate.methods import Method, require_anonymous
from quorate.service.domain.cost import check_pool
from quorate.service.domain.routing import RULES, Rule
from quorate.session.state import Settings
from quorate.session.tuning import policy_knobs
from quorate.streams.control import BudgetControl, rule_knob
from quorate.streams.target_error import TargetErrorControl
from quorate.validate import bounded, broken, class_names, fraction, members, vote_limits, whole

LOWEST_RATE = "the bound on wrong answers relies on the lowest rate since the first draw"
MOST_CLASSES = 200
MOST_MODELS = 20
MOST_LETTERS = 100  # of the name of a class
LEAST_SHARE = 1e-6  # of target_error, and of an audit_rate above 0: nobody audits a million items to see one error
LEAST_BUDGET = 0.01  # votes per item
MOST_PRICE = 1e9
MOST_GOLD = 0.5  # of the items given out
MOST_PEOPLE = 1000  # with a price of their own
MOST_ID = 60  # letters, as a voter has in an event
LIMITED = ("pool_size", "min_votes", "max_votes", "threshold", "budget", "method")  # what `check_limits` looks at
RANGED = ("target_error", "audit_rate", "budget", "price")  # what it looks at alone, each for itself
FIXED = ("classes", "models", "method", "seed", "window")  # what past events rely on


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSettings:
    """One project's choices.

    `classes` what experts choose from   `pool_size` N: the pool whose plurality is the truth   `models` names of the
    classifiers, one prediction each per item   `method` by name, knobs as in "finexp:threshold=0.9"   `threshold`,
    `budget` (votes per item), `target_error`: at most one   `price` of a vote, for the money shown   `min_votes`,
    `max_votes` per item   `audit_rate` share of closed, unsettled items that are voted to the end   `lease_seconds` a
    shown item is kept for its voter   `undo_seconds` a vote can be taken back   `window`, `refit_every`: what learning
    looks at, and how often   `seed` of ties and audit draws   `display_names` what pages show for a class, where it
    is not the class itself   `gold_share` of the items given out that are gold, where there are any
    `person_prices` of one vote, by account or `ext:<name>`, where it is not `price`   `adjudicate_below`
    this confidence closed items wait for a senior's verdict, and ties of a whole pool, too   `show_own_gold`
    each voter sees their own share on gold   `routing` whom items are given to first (`routing.RULES`)

    >>> ProjectSettings(classes=["cat", "dog"], pool_size=5).session().method.name
    'quorate'
    """

    classes: tuple[str, ...]
    pool_size: int
    models: tuple[str, ...] = ("classifier",)
    method: str = "quorate"
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
    undo_seconds: float = 20.0
    window: int = 500
    refit_every: int = 20
    seed: int = 0
    display_names: dict[str, str] = field(default_factory=dict)
    gold_share: float = 0.05
    person_prices: dict[str, float] = field(default_factory=dict)
    adjudicate_below: float | None = None
    show_own_gold: bool = False
    routing: Rule = "any"

    def __post_init__(self) -> None:
        """Check everything; nothing is believed later that was not checked here."""
        put = object.__setattr__
        put(self, "classes", _names(self.classes))
        put(self, "models", _models(self.models))
        put(self, "display_names", _display_names(self.display_names, self.classes))
        put(self, "pool_size", members(self.pool_size))
        for name, least in (("min_votes", 0), ("window", 1), ("refit_every", 1), ("seed", 0)):
            put(self, name, whole(getattr(self, name), where=name, least=least))
        if self.max_votes is not None:
            put(self, "max_votes", whole(self.max_votes, where="max_votes", least=0))
        vote_limits(self.min_votes, self.max_votes)
        put(self, "price", bounded(self.price, where="price", least=0.0))
        if self.adjudicate_below is not None:
            put(self, "adjudicate_below", fraction(self.adjudicate_below, where="adjudicate_below"))
        if self.routing not in RULES:
            raise broken("routing", self.routing, f"one of {', '.join(RULES)}", "choose one.")
        if not isinstance(self.show_own_gold, bool):
            raise broken("show_own_gold", self.show_own_gold, "true or false", "pass one of them.")
        put(self, "person_prices", _person_prices(self.person_prices))
        put(self, "audit_rate", fraction(self.audit_rate, where="audit_rate"))
        put(self, "gold_share", bounded(self.gold_share, where="gold_share", least=0.0, most=MOST_GOLD))
        put(self, "lease_seconds", bounded(self.lease_seconds, where="lease_seconds", least=5.0, most=86400.0))
        put(self, "undo_seconds", bounded(self.undo_seconds, where="undo_seconds", least=0.0, most=3600.0))
        for name, most in (("currency", 8), ("instructions", 10_000)):
            put(self, name, _text(getattr(self, name), where=name, most=most))
        self._check_goal()
        goal_control(self)  # refuses a method without a parameter to steer
        chosen = self.chosen_method()
        if not isinstance(chosen.policy, (Stateless, QuotaPolicy)):
            rule = "a method that does not remember past items, which workers cannot share"
            raise broken("method", chosen.name, rule, "choose another, e.g. 'quorate'.")

    def _check_goal(self) -> None:
        given = [name for name in ("threshold", "budget", "target_error") if getattr(self, name) is not None]
        if len(given) > 1:
            rule = f"no other goal beside `{given[0]}`: each says when to stop"
            raise broken(given[1], getattr(self, given[1]), rule, "pass one of them.")
        if self.budget is not None and bounded(self.budget, where="budget", least=0.0) == 0:
            raise broken("budget", 0, "votes per item above 0", "raise it.")
        if self.target_error is not None:
            if fraction(self.target_error, where="target_error") == 0:
                raise broken("target_error", 0, "a share above 0", "to be certain use method 'until-settled'.")
            if self.audit_rate == 0:
                rule = "a share above 0 with a `target_error`: audits are what holds it"
                raise broken("audit_rate", 0, rule, "pass e.g. `audit_rate=0.05`.")

    def check_limits(self) -> None:
        """The least and the most votes of an item make sense with the pool, and the goal with it and with the classes.

        A decision about the pool is fast enough. Checked when they are chosen, not when they are read: projects made by
        older versions stay readable.
        """
        check_pool(self.chosen_method(), len(self.classes), self.pool_size)
        self._check_ranges()
        threshold, least = knobs_of(self).get("threshold"), 1 / len(self.classes)
        if threshold is not None and self.target_error is None and threshold <= least:
            meant = f"did you mean {100 * threshold:g}? Raise" if threshold <= 0.01 else "raise"
            num = len(self.classes)
            rule = f"a share above {least:.3g}, which is one of {num} classes, or every item would close without a vote"
            raise broken("threshold", threshold, rule, f"{meant} it.")
        if self.budget is not None and self.budget > self.pool_size:
            why = "more votes per item than there are experts cannot be spent"
            rule = f"at most `pool_size`, which is {self.pool_size}: {why}"
            raise broken("budget", self.budget, rule, "lower it.")
        if self.budget is not None and self.budget < self.min_votes:
            rule = f"at least `min_votes`, which is {self.min_votes}: every item is asked so often"
            raise broken("budget", self.budget, rule, "raise it, or lower `min_votes`.")
        if self.max_votes is not None and self.max_votes < 1:
            fix = "raise it, or leave it out to ask up to the whole pool."
            raise broken("max_votes", self.max_votes, "at least 1, or every item would close without a vote", fix)
        if self.min_votes > self.pool_size:
            rule = f"at most `pool_size`, which is {self.pool_size}"
            raise broken("min_votes", self.min_votes, rule, "lower `min_votes` or raise `pool_size`.")

    def _check_ranges(self) -> None:
        """Numbers that mean nothing, and that arithmetic with them turns into others, are refused."""
        if self.target_error is not None:
            bounded(self.target_error, where="target_error", least=LEAST_SHARE, most=1.0)
        if self.audit_rate > 0:
            bounded(self.audit_rate, where="audit_rate", least=LEAST_SHARE, most=1.0)
        if self.budget is not None:
            bounded(self.budget, where="budget", least=LEAST_BUDGET)
        bounded(self.price, where="price", least=0.0, most=MOST_PRICE)

    def chosen_method(self) -> Method:
        """The method with its parameters, the threshold among them."""
        return require_anonymous(parse_method(self.method, threshold=self.threshold))

    def shown(self, name: str) -> str:
        """What pages show for a class."""
        return self.display_names.get(name, name)

    @property
    def shown_classes(self) -> tuple[str, ...]:
        """What pages show for each class, in order."""
        return tuple(map(self.shown, self.classes))

    def by_model(self, rows: Sequence[Sequence[float]]) -> dict[str, dict[str, float]]:
        """Numbers of each classifier and class, (M, K), by their names."""
        named = zip(self.models, rows, strict=True)
        return {model: dict(zip(self.classes, row, strict=True)) for model, row in named}

    def session(self) -> Settings:
        """As the session core takes them; learning is the service's."""
        return Settings(
            method=self.chosen_method(),
            classes=self.classes,
            pool_size=self.pool_size,
            window=self.window,
            refit_every=None,
            seed=self.seed,
            num_classifiers=len(self.models),
            min_votes=self.min_votes,
            max_votes=self.max_votes,
        )

    def as_json(self) -> dict[str, Any]:
        """Every choice, by name."""
        return asdict(self) | {"classes": list(self.classes), "models": list(self.models)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The settings as `as_json` wrote them; unknown names are an error."""
        known = [each.name for each in fields(cls)]
        for name in content:
            if name not in known:
                rule = f"one of the settings there are: {', '.join(known)}"
                raise broken(name, content[name], rule, "correct the name.")
        for name in ("classes", "pool_size"):
            if name not in content:
                raise broken(name, None, "a value, as every project needs one", "give one.")
        return cls(**content)

    def changed(self, **changes: Any) -> Self:  # noqa: ANN401
        """The settings with other values; what past decisions rely on stays, but for the parameters of the method."""
        for name, value in changes.items():
            if name in FIXED and not self._same(name, value):
                rule = f"{shown(getattr(self, name))}, as it cannot change while a project runs"
                raise broken(name, value, rule, "start a new project for another one.")
        after = replace(self, **changes)
        if any(getattr(after, name) != getattr(self, name) for name in LIMITED):  # else it stays as it was once allowed
            after.check_limits()
        if any(getattr(after, name) != getattr(self, name) for name in RANGED):
            after._check_ranges()
        if knobs_of(after).keys() != knobs_of(self).keys():
            rule = f"none, as this project asks by {', '.join(knobs_of(self))}, and past decisions rely on it"
            fix = "change its value, or start a new project to ask by another rule."
            raise broken("threshold", after.threshold, rule, fix)
        if _lasting(after) != _lasting(self):
            told = ", ".join(f"{name}={value}" for name, value in _lasting(self).items())
            rule = f"{told or 'a method without further parameters'}, on which past decisions rely"
            may = ", ".join(knobs_of(self)) or "nothing"
            fix = f"leave the rest as it is: only {may} can change while a project runs."
            raise broken("method", after.method, rule, fix)
        if after.audit_rate < self.audit_rate:
            rule = f"at least {self.audit_rate:g}: {LOWEST_RATE}"
            raise broken("audit_rate", after.audit_rate, rule, "raise it, or start a new project.")
        return after

    def _same(self, name: str, value: object) -> bool:
        now = getattr(self, name)
        if name == "method":  # its parameters may change: that is a "tune" event
            return isinstance(value, str) and value.partition(":")[0].strip() == now.partition(":")[0].strip()
        if isinstance(now, tuple):
            return isinstance(value, (list, tuple)) and tuple(value) == now
        return bool(value == now)


def rule_for_people(num_people: int) -> str:
    """What the pool should be where so many people vote."""
    return f"at most {num_people}, as many as will vote: items ask up to the whole pool, and may never close"


def goal_control(settings: ProjectSettings) -> BudgetControl | TargetErrorControl | None:
    """The controller that holds the project's budget or target error, as it starts; None without such a goal."""
    if settings.budget is not None:
        rule = rule_knob(settings.chosen_method())
        return BudgetControl(settings.budget, pool_size=settings.pool_size, rule=rule)
    if settings.target_error is not None:
        return target_control(settings, settings.target_error)
    return None


def target_control(settings: ProjectSettings, target: float) -> TargetErrorControl:
    """The controller of a target error, as `quorate run` starts it."""
    rule = rule_knob(settings.chosen_method())
    return TargetErrorControl(target, audit_rate=settings.audit_rate, pool_size=settings.pool_size, rule=rule)


def knobs_of(settings: ProjectSettings) -> dict[str, Any]:
    """The policy's parameters these settings start with."""
    control = goal_control(settings)
    return policy_knobs(settings.chosen_method()) | ({} if control is None else control.knobs)


def _lasting(settings: ProjectSettings) -> dict[str, Any]:
    """The parameters of the method that no "tune" event changes: what it learns with, from the first decision on."""
    chosen = settings.chosen_method()
    return {name: value for name, value in chosen.knobs.items() if name not in policy_knobs(chosen)}


def _names(classes: object) -> tuple[str, ...]:
    if isinstance(classes, str) or not isinstance(classes, (list, tuple)):
        raise broken("classes", classes, "a list of names", "pass e.g. ['cat', 'dog'].")
    if len(classes) > MOST_CLASSES:
        raise broken("classes", f"{len(classes)} names", f"at most {MOST_CLASSES}, which fit a page", "merge some.")
    names = class_names(classes)
    for name in names:
        _text(name, where="classes", most=MOST_LETTERS)
    return names


def _display_names(given: object, classes: tuple[str, ...]) -> dict[str, str]:
    """The names that differ from their class, in the order of the classes; no two classes are shown alike."""
    if not isinstance(given, Mapping):
        raise broken("display_names", given, "a text for each class to rename", "pass e.g. {'cat': 'Cat'}.")
    for name, text in given.items():
        if name not in classes:
            raise broken("display_names", name, f"one of the classes: {', '.join(classes)}", "correct the class.")
        if not isinstance(text, str) or not text.strip() or len(text) > MOST_LETTERS or not text.isprintable():
            rule = f"1 to {MOST_LETTERS} printable characters, not only spaces"
            raise broken("display_names", text, rule, "choose another, or leave it out to show the class.")
    shown = {name: given[name].strip() if name in given else name for name in classes}
    for name, text in shown.items():
        if list(shown.values()).count(text) > 1 and name in given:
            raise broken("display_names", text, "a name that no other class is shown with", "choose another.")
    return {name: text for name, text in shown.items() if text != name}


def _person_prices(given: object) -> dict[str, float]:
    if not isinstance(given, Mapping) or len(given) > MOST_PEOPLE:
        rule = f"the price of a vote of at most {MOST_PEOPLE} people"
        raise broken("person_prices", given, rule, "pass e.g. {'ext:ada': 0.5}.")
    for person in given:
        if not isinstance(person, str) or not 0 < len(person) <= MOST_ID or not person.isprintable():
            raise broken("person_prices", person, "the id of an account, or ext:<name>", "correct it.")
    checked = {
        person: bounded(price, where=f"person_prices of {person!r}", least=0.0, most=MOST_PRICE)
        for person, price in given.items()
    }
    return dict(sorted(checked.items()))


def _models(models: object) -> tuple[str, ...]:
    if isinstance(models, str) or not isinstance(models, (list, tuple)) or not 1 <= len(models) <= MOST_MODELS:
        rule = f"a list of 1 to {MOST_MODELS} names, one per classifier"
        raise broken("models", models, rule, "pass e.g. ['resnet'].")
    names = tuple(_text(name, where="models", most=100) for name in models)
    if len(set(names)) != len(names) or "" in names:
        raise broken("models", list(names), "different, non-empty names", "rename one.")
    return names


def _text(value: object, *, where: str, most: int) -> str:
    if not isinstance(value, str) or len(value) > most or "\x00" in value:
        raise broken(where, value, f"text of at most {most} characters", "shorten it.")
    return value

"""The settings of a project: one pydantic model, from which API schema, forms, checks and the docs' table come.

A field declares type, bounds, title, help (`description`) and, in `json_schema_extra`, its `unit` in forms. Rules that
concern several settings are in `ProjectSettings.check`. Stored as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.config import JsonDict

from quorate.errors import InvalidInput, shown
from quorate.methods import Method, parsed, policy_parameters, require_anonymous, with_parameter
from quorate.model import DEFAULT_ERROR_COST
from quorate.session import Settings
from quorate.streams import BudgetControl, TargetErrorControl, rule_parameter
from quorate.validate import MOST_VOTES, class_names, invalid, vote_limits
from quorate_service.domain.cost import check_pool

LOWEST_RATE = "the bound on wrong answers relies on the lowest rate since the first draw"
MOST_CLASSES = 200
MOST_MODELS = 20

SHOULD = re.compile(r"^(?:Value error, )?(?:\w+ )?should (be )?")
GOALS = ("error_cost", "budget", "target_error")  # how far to ask: at most one
FIXED = ("classes", "method")  # past events rely on these; of the method only parameters can change


def printable(text: str) -> str:
    """The text, if all characters are printable."""
    if not text.isprintable():
        raise ValueError("should have printable characters only")
    return text


Name = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True), AfterValidator(printable)]
Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
Percent: JsonDict = {"unit": "%"}  # a share, which forms show as a percentage


class ProjectSettings(BaseModel):
    """The settings of one project.

    >>> ProjectSettings(classes=("cat", "dog"), pool_size=5).chosen_method().name
    'value'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    classes: Annotated[tuple[Name, ...], Field(strict=False)] = Field(
        min_length=2,
        max_length=MOST_CLASSES,
        title="Answers to choose from",
        description="One on each line. They cannot change later; the names that voters see can.",
        json_schema_extra={"unit": "lines"},
    )
    pool_size: int = Field(
        ge=1,
        le=MOST_VOTES,
        title="Experts in the pool",
        description="The correct answer is what most of these experts would say. Fewer are asked where that is enough. "
        "Applies to new items.",
    )
    budget: float | None = Field(
        default=None,
        ge=0.01,
        le=MOST_VOTES,
        title="Votes per item",
        description="On average; they are spent where they help most.",
    )
    target_error: float | None = Field(
        default=None,
        ge=1e-6,
        le=1,
        title="Wrong answers, at most",
        description="Measured by audits of items that closed.",
        json_schema_extra=Percent,
    )
    error_cost: float | None = Field(
        default=None,
        gt=0,
        le=1e15,
        title="A wrong answer costs as much as this many votes",
        description="A vote is asked for while it is expected to save more than it costs. "
        f"Empty: {DEFAULT_ERROR_COST:g}, unless the method says otherwise.",
    )
    method: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(
        default="value",
        title="Method",
        description="One of the list that the command quorate methods prints, e.g. finexp:threshold=0.95. "
        "Later only its parameters can change.",
    )
    min_votes: int = Field(
        default=0, ge=0, le=MOST_VOTES, title="Fewest votes per item", description="Applies to new items."
    )
    max_votes: int | None = Field(
        default=None,
        ge=1,
        le=MOST_VOTES,
        title="Most votes per item",
        description="Applies to new items. Empty: the whole pool.",
    )
    audit_rate: float = Field(
        default=0.05,
        ge=0,
        le=1,
        title="Audited share",
        description="Of the items that close: the whole pool votes on them, to measure how many answers are wrong. "
        "It can be raised later, not lowered.",
        json_schema_extra=Percent,
    )
    gold_share: float = Field(
        default=0.05,
        ge=0,
        le=0.5,
        title="Gold items among those given out",
        description="Items whose answer you know. They measure how often voters are right, and count for nothing else.",
        json_schema_extra=Percent,
    )
    adjudicate_below: float | None = Field(
        default=None,
        ge=0,
        le=1,
        title="Adjudication: a senior decides below this confidence",
        description="Also ties of a whole pool. The pool's answer is kept beside the verdict. Empty: no adjudication.",
        json_schema_extra=Percent,
    )
    lease_seconds: float = Field(
        default=120.0, ge=5, le=86400, title="Item reserved for a voter", json_schema_extra={"unit": "s"}
    )
    price: float = Field(default=0.0, ge=0, le=1e9, title="Price of one vote", description="For the money shown.")
    currency: Annotated[Text, StringConstraints(max_length=8)] = Field(
        default="", title="Currency", description="E.g. EUR."
    )
    instructions: Annotated[Text, StringConstraints(max_length=10_000)] = Field(
        "",
        title="Instructions for voters",
        description="Markdown, with links and pictures.",
        json_schema_extra={"unit": "text"},
    )
    display_names: dict[Name, Name] = Field(
        default_factory=dict,
        max_length=MOST_CLASSES,
        title="Names that voters see",
        description="By class; others are shown unchanged. Votes, events and exports keep the class.",
    )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The settings with these names and values; an error names the first that is not valid."""
        try:
            return cls.model_validate(dict(content))
        except ValidationError as error:
            raise first_problem(error) from None

    def as_json(self) -> dict[str, Any]:
        """Every setting, by name."""
        return self.model_dump(mode="json")

    def check(self) -> None:
        """Raise unless the settings fit each other, and a decision is fast enough."""
        class_names(self.classes)
        self._check_display_names()
        self._check_goal()
        vote_limits(self.min_votes, self.max_votes)
        check_pool(self.chosen_method(), len(self.classes), self.pool_size)
        threshold, least = parameters_of(self).get("threshold"), 1 / len(self.classes)
        if threshold is not None and self.target_error is None and threshold <= least:
            rule = f"a threshold above {least:.3g} (1 / classes), or every item would close without a vote"
            raise invalid("method", self.method, rule, "raise it.")
        if self.budget is not None and not self.min_votes <= self.budget <= self.pool_size:
            rule = f"between `min_votes` and `pool_size`: {self.min_votes} to {self.pool_size}"
            raise invalid("budget", self.budget, rule, "change one of them.")
        if self.min_votes > self.pool_size:
            rule = f"at most `pool_size`, which is {self.pool_size}"
            raise invalid("min_votes", self.min_votes, rule, "lower `min_votes` or raise `pool_size`.")

    def _check_goal(self) -> None:
        goals = [name for name in GOALS if getattr(self, name) is not None]
        if len(goals) > 1:
            rule = f"no other goal together with `{goals[0]}`: each decides how far to ask"
            raise invalid(goals[1], getattr(self, goals[1]), rule, "leave one of them empty.")
        if self.target_error is not None and self.audit_rate < 1e-6:
            rule = "a share above 0 with a `target_error`, which is controlled by audits"
            raise invalid("audit_rate", self.audit_rate, rule, "pass e.g. 0.05.")
        chosen = self.chosen_method()
        if hasattr(chosen.policy, "update"):
            rule = "a method without a state of past items, which workers cannot share"
            raise invalid("method", chosen.name, rule, "choose another, e.g. 'value'.")
        goal_control(self)  # refuses a method without a parameter to steer

    def _check_display_names(self) -> None:
        for name, text in self.display_names.items():
            if name not in self.classes:
                raise invalid("display_names", name, f"one of the classes: {', '.join(self.classes)}", "correct it.")
            if self.shown_classes.count(text) > 1:
                raise invalid("display_names", text, "a name that no other class has", "choose another.")

    def chosen_method(self) -> Method:
        """The method with its parameters, including the cost of an error."""
        return require_anonymous(with_parameter(self.method, error_cost=self.error_cost))

    def shown(self, name: str | None) -> str:
        """The name that pages show for a class; None: an item closed without an answer."""
        return "no answer" if name is None else self.display_names.get(name, name)

    @property
    def shown_classes(self) -> tuple[str, ...]:
        """The names that pages show for the classes, in order."""
        return tuple(map(self.shown, self.classes))

    def session(self, *, seed: int = 0, num_classifiers: int = 1) -> Settings:
        """The settings of the session core; the service does the learning."""
        return Settings(
            method=self.chosen_method(),
            classes=self.classes,
            pool_size=self.pool_size,
            seed=seed,
            num_classifiers=num_classifiers,
            min_votes=self.min_votes,
            max_votes=self.max_votes,
        )

    def changed(self, **changes: Any) -> Self:  # noqa: ANN401
        """The settings with changes. What past decisions rely on cannot change, except the policy's parameters."""
        after = self.from_json(self.model_dump() | changes)
        for name in FIXED:
            if after._fixed(name) != self._fixed(name):
                rule = f"{shown(getattr(self, name))}, which cannot change in a project"
                raise invalid(name, changes[name], rule, "start a new project to change it.")
        after.check()
        if parameters_of(after).keys() != parameters_of(self).keys() or _lasting(after) != _lasting(self):
            may = ", ".join(parameters_of(self)) or "nothing"
            rule = f"a method that differs in {may} only, because past decisions rely on the rest"
            raise invalid("method", after.method, rule, "start a new project to use another rule.")
        if after.audit_rate < self.audit_rate:
            rule = f"at least {self.audit_rate:g}: {LOWEST_RATE}"
            raise invalid("audit_rate", after.audit_rate, rule, "raise it, or start a new project.")
        return after

    def _fixed(self, name: str) -> object:
        return parsed(self.method)[0] if name == "method" else getattr(self, name)


def first_problem(error: ValidationError) -> InvalidInput:
    """The first of pydantic's complaints as one of the library's errors."""
    first = error.errors(include_url=False)[0]
    field, *rest = first["loc"] or ("settings",)
    size = first.get("ctx", {})
    rules = {
        "missing": "a value",
        "extra_forbidden": f"one of: {', '.join(ProjectSettings.model_fields)}",
        "too_short": f"at least {size.get('min_length')}, one on each line",
        "too_long": f"at most {size.get('max_length')}",
    }
    rule = rules.get(first["type"], SHOULD.sub(lambda match: "" if match[1] else "to ", first["msg"]))
    part = ".".join(map(str, rest)) or None
    return invalid(str(field), first["input"], rule, "correct it.", place=part)


def goal_of(settings: ProjectSettings) -> dict[str, float | None]:
    """How far to ask, by name of the setting."""
    return {name: getattr(settings, name) for name in GOALS}


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

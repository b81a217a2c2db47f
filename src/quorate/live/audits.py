"""What the audits of a panel say about its confidence: closed items that later votes settled -> a correction.

Called by `Panel`, which asks more judges about some questions after the decision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from quorate.model import is_settled, plurality_shares
from quorate.numerics import share_interval
from quorate.reasons import CERTAIN
from quorate.session import ItemState, Session, Standing

FIRST_ERRORS, FIRST_DOUBT = 1.5, 1.0  # before any audit a panel is taken to err half as often again as it states
UNLIKELY = 0.01  # so improbable a number of errors contradicts the confidence


@dataclass(frozen=True, slots=True)
class PanelAudits:
    """The audited answers of a panel that were not certain: how many, how many were expected to be wrong, and were.

        factor r = (errors + 1.5) / (doubt + 1),    corrected confidence = 1 - r (1 - confidence), at least 1 / K

    `doubt`: the sum of 1 - confidence. An answer that is one of n tied winners of the whole panel is 1 - 1/n wrong.

    >>> audits = PanelAudits(num=12, doubt=0.4, errors=5.0)
    >>> round(audits.factor, 2), round(audits.corrected(0.97, num_classes=2), 2)
    (4.64, 0.86)
    """

    num: int = 0
    doubt: float = 0.0
    errors: float = 0.0

    @property
    def factor(self) -> float:
        """How many errors there are for each that the panel expects."""
        return (self.errors + FIRST_ERRORS) / (self.doubt + FIRST_DOUBT)

    @property
    def excess(self) -> float:
        """The factor relative to that without audits, at least 1: by so much the cost of an error is raised."""
        return max(self.factor * FIRST_DOUBT / FIRST_ERRORS, 1.0)

    def corrected(self, confidence: float, *, num_classes: int) -> float:
        """The confidence of an answer that is not certain."""
        return max(1.0 - self.factor * (1.0 - confidence), 1.0 / num_classes)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The exact 95 % interval of the share of such answers that the whole panel would not give; None: no audit."""
        return share_interval(self.errors / self.num, self.num) if self.num else None

    @property
    def warning(self) -> str | None:
        """A sentence if the audits contradict the panel's own confidence."""
        if poisson_tail(self.errors, self.doubt) >= UNLIKELY:
            return None
        return (
            f"The audits contradict the panel's confidence: {self.errors:g} of {self.num} audited answers differ from "
            f"the whole panel's, {self.doubt:.1f} were expected. The confidence is corrected and more are asked."
        )


NO_AUDITS = PanelAudits()


def audits_of(session: Session) -> PanelAudits:
    """The audits among the recent items of the session: not settled when they were closed, but by votes since.

    Taken from the session alone, so that a panel which continues a journal knows them.
    """
    num, doubt, errors = 0, 0.0, 0.0
    for item_id in session.recent_items():
        answer, item = answer_of(session, item_id), session.item(item_id)
        if is_certain(answer) or item.votes.sum() <= answer.num_votes or not is_answered(item):
            continue
        num += 1
        doubt += 1.0 - answer.confidence
        errors += 1.0 - float(plurality_shares(item.votes)[answer.label])
    return PanelAudits(num, doubt, errors)


def is_answered(item: ItemState) -> bool:
    """Whether the votes, late ones too, settle what the whole panel says."""
    return is_settled(item.votes, item.pool_left)


def answer_of(session: Session, item_id: str) -> Standing:
    """The answer of an open or recent item, by class number; unlike `session.decision` without its probabilities."""
    standing = session.item(item_id).standing
    assert standing is not None
    return standing


def is_certain(answer: Standing) -> bool:
    """Whether the missing votes cannot change the answer."""
    return answer.reason in CERTAIN


def poisson_tail(count: float, mean: float) -> float:
    """P(X >= count) of a Poisson variable; 1 for a count of 0.

    >>> round(poisson_tail(2, 1.0), 4)
    0.2642
    """
    terms = (mean**k / math.factorial(k) for k in range(math.ceil(count)))
    return 1.0 - math.exp(-mean) * sum(terms)

"""Which answers of a jury are audited, and what follows: a corrected confidence, and more votes if errors are found.

Held by `work_list.py`, for loops and panels. The audits themselves are in the session: `audits.py` counts them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from quorate.live.audits import answer_of, audits_of, is_answered, is_certain
from quorate.live.judges import Judge, Jury
from quorate.rng import stream
from quorate.session import Session
from quorate.validate import bounded

AUDIT_RATE = 0.05
FIRST_AUDITS = 10  # the first answers that are not certain are all audited: before them the judges are hardly known
MOST_ERROR_COST = 1e6


class Auditor:
    """Audits a share `rate` of the answers of a jury that are not certain, and the first ten; 0: none."""

    def __init__(self, session: Session, jury: Jury, rate: float) -> None:
        self._session, self._jury = session, jury
        self._rate = bounded(rate, where="audit_rate", least=0.0, most=1.0)
        self.audits = audits_of(session)
        cost = session.parameters.get("error_cost")
        self._error_cost = None if cost is None else cost / self.audits.excess

    def judges(self, item_id: str) -> Iterator[Judge]:
        """The cheapest judges left, until the answer is settled, if it is audited: by seed and item after the first."""
        if not self._rate or is_certain(answer_of(self._session, item_id)):
            return
        drawn = stream(self._jury.seed, "panel-audit", item_id).random() < self._rate
        if not drawn and self.audits.num >= FIRST_AUDITS:
            return
        acted = self._session.voters(item_id)
        for judge in self._jury.cheapest_first(self._session):
            if judge.name not in acted and not is_answered(self._session.item(item_id)):
                yield judge

    def confidence(self, item_id: str) -> float | None:
        """That of a closed item as the audits before it allow; None: as the session has it."""
        if not self._rate or is_certain(answer := answer_of(self._session, item_id)):
            return None
        return self.audits.corrected(answer.confidence, num_classes=len(self._session.settings["classes"]))

    def learn(self) -> None:
        """Count the audits anew; they raise the cost of an error, and may contradict the confidence."""
        warned, self.audits = self.audits.warning, audits_of(self._session)
        if self._error_cost is not None:
            self._session.tune(error_cost=min(self._error_cost * self.audits.excess, MOST_ERROR_COST))
        if self.audits.warning is not None and warned is None:
            warnings.warn(self.audits.warning, stacklevel=5)

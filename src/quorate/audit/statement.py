"""The numbers of an audit -> sentences that a quality manager can sign, with their assumptions.

Called by `commands.audit` and by dashboards.
"""

from __future__ import annotations

from dataclasses import dataclass

from quorate.audit.running import Bound
from quorate.audit.sampling import BatchBound

ASSUMPTIONS = (
    "An error is an answer other than the plurality of the full panel; an answer that shares a tie of t classes counts "
    "as 1 - 1/t of an error. Errors of the panel itself are not measured.",
    "Answer, confidence and audit rate of an item were fixed before its draw (the random choice whether it goes to the "
    "full panel), nobody who closed items knew the draws, and each item was drawn once.",
    "If audits influenced later decisions, the items are in the order in which they were closed.",
    "An audited item got the votes that a full panel would have given, and its answer was not changed afterwards.",
    "A panel that was not completed counts as an error.",
)
RUNNING = (
    "You can run this report as often as you like: all its statements hold together with that confidence. They hold "
    "even if the method's own confidence is wrong, errors come in runs, or items are similar."
)
BATCH = (
    "This statement holds for one report, at an end of the batch that was fixed beforehand. All items had the same "
    "audit rate, no audit influenced a later decision of the batch, and a tie of the panel counts as a whole error."
)


@dataclass(frozen=True, slots=True)
class AuditCounts:
    """The counts behind a sentence.

    `num_settled` of the `num_items` closed items could not be changed by any further vote; `settled_loss` is the loss
    by ties and known errors among them. `num_wrong` of the `num_audited` disagree with the panel (ties count in part),
    `num_incomplete` of them because the panel was not completed.
    """

    num_items: int
    num_settled: int
    num_audited: int
    num_wrong: float
    num_incomplete: int = 0
    settled_loss: float = 0.0

    @property
    def num_unsettled(self) -> int:
        """Closed items that further votes could have changed."""
        return self.num_items - self.num_settled


def running_sentence(tally: AuditCounts, bound: Bound) -> str:
    """The running bound as a sentence.

    >>> tally = AuditCounts(num_items=4000, num_settled=1600, num_audited=240, num_wrong=3)
    >>> print(running_sentence(tally, Bound(0.05, 4000, 108.2, 30.0, True)))
    With 95 % confidence, at most 2.71 % of the 4000 closed items (108.2 of them) are answered other than by the full
    panel's plurality. Basis: the votes settled 1600 items; of the other 2400, a random draw sent 240 to the full panel,
    which found 3 wrong.
    """
    if not bound.is_informative:
        return (
            f"Not enough audits yet: {_basis(tally)} Nothing better than the trivial bound can be signed "
            f"with {_percent(1 - bound.alpha)} confidence."
        )
    return (
        f"With {_percent(1 - bound.alpha)} confidence, at most {rounded_up(100 * bound.mean):.2f} % of the "
        f"{tally.num_items} closed items ({_up(bound.total)} of them) are answered other than by the full panel's "
        f"plurality. Basis: {_basis(tally)}"
    )


def batch_sentence(tally: AuditCounts, batch: BatchBound) -> str:
    """The exact end-of-batch bound as a sentence; ties and known errors of settled items are added.

    >>> tally = AuditCounts(num_items=4000, num_settled=1600, num_audited=240, num_wrong=0)
    >>> print(batch_sentence(tally, BatchBound(0.05, 2400, 240, 0, 28)))
    With 95 % confidence, at most 28 of the batch's 2400 unsettled items are wrong: at most 0.70 % of all 4000 closed
    items.
    """
    share = 100 * (batch.most_errors + tally.settled_loss) / max(tally.num_items, 1)
    ties = f", with {_up(tally.settled_loss)} for ties and known errors of settled ones" if tally.settled_loss else ""
    return (
        f"With {_percent(1 - batch.alpha)} confidence, at most {batch.most_errors} of the batch's "
        f"{batch.num_unsettled} unsettled items are wrong: at most {rounded_up(share):.2f} % of all {tally.num_items} "
        f"closed items{ties}."
    )


def _basis(tally: AuditCounts) -> str:
    missing = f" ({tally.num_incomplete} because the panel was not completed)" if tally.num_incomplete else ""
    ties = f" (ties and known errors among them count {_up(tally.settled_loss)})" if tally.settled_loss else ""
    wrong = f"{rounded_up(tally.num_wrong):g} wrong{missing}"
    return (
        f"the votes settled {tally.num_settled} items{ties}; of the other {tally.num_unsettled}, a random "
        f"draw sent {tally.num_audited} to the full panel, which found {wrong}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.6g} %"


def rounded_up(number: float, step: float = 0.01) -> float:
    """Rounded up to `step`, so that the printed number is never below the bound.

    >>> rounded_up(4.061)
    4.07
    """
    return max(0.0, round(float(-(-(number - 1e-9) // step) * step), 6))


def _up(number: float) -> str:
    """Rounded up to a tenth, without a trailing .0."""
    return f"{rounded_up(number, 0.1):.1f}".removesuffix(".0")


def standing(target: float, reached: float | None, proved: float | None) -> dict[str, bool | str]:
    """Whether the target is held or an aim, and whether to show the estimate; both depend on the audit's bound only.

    >>> standing(0.05, 0.03, 0.08)
    {'supported': False, 'status': 'aim', 'estimate_supported': True}
    >>> standing(0.05, 0.03, None)["estimate_supported"], standing(0.05, 0.03, 0.04)["status"]
    (False, 'held')
    """
    held = proved is not None and proved <= target
    shown = proved is not None and reached is not None and reached <= proved
    return {"supported": held, "status": "held" if held else "aim", "estimate_supported": shown}

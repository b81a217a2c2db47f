"""Decisions -> the audit sample (`draw_audit`); sample, decisions and panel votes -> what they prove (`report_audit`).

What `quorate audit draw` and `quorate audit report` do; the maths is in `quorate.audit`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorate.audit import (
    ASSUMPTIONS,
    BATCH,
    RUNNING,
    AuditCounts,
    BatchBound,
    Bound,
    RunningAudit,
    batch_sentence,
    draw,
    end_of_batch,
    most_errors,
    rounded_up,
    running_sentence,
)
from quorate.commands.audit.files import (
    ClosedItem,
    DrawFile,
    DrawnItem,
    VotesTable,
    read_decisions,
    read_draw,
    read_panels,
    tidy,
    write_draw,
)
from quorate.commands.audit.report import write_audit
from quorate.errors import InvalidInput, shown, source_is
from quorate.files import check_free
from quorate.model import is_settled
from quorate.validate import bounded, invalid
from quorate.version import __version__

NUM_CHECKPOINTS = 10
USEFUL = 0.1  # a bound above this share of the unsettled items is of little use
_SAME = 1e-9  # a confidence written and read again may differ in its last digits


@dataclass(frozen=True, slots=True)
class AuditSample:
    """The result of a draw; `to_audit`: the newly drawn items that go to the full panel."""

    file: str
    seed: int
    rate: float
    num_closed: int
    num_settled: int
    num_open: int
    num_drawn: int
    num_audited: int
    num_new: int
    to_audit: tuple[str, ...]

    @property
    def warning(self) -> str | None:
        """A warning if the audits are too few to prove much, even without errors, and how many would be enough."""
        if not self.num_drawn or most_errors(self.num_drawn, self.num_audited, 0) <= USEFUL * self.num_drawn:
            return None
        most = most_errors(self.num_drawn, self.num_audited, 0) / self.num_drawn
        enough = next(
            n for n in range(1, self.num_drawn + 1) if most_errors(self.num_drawn, n, 0) <= USEFUL * self.num_drawn
        )
        return (
            f"{self.num_audited} audits are few: even if no error is found, up to {100 * most:.0f} % of the "
            f"{self.num_drawn} unsettled items can be wrong (95 % confidence). About {enough} audits, a rate of "
            f"{rounded_up(enough / self.num_drawn):.2f}, could prove at most {100 * USEFUL:.0f} %."
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The running bound after the first `num_items` closed items of the decisions file."""

    num_items: int
    num_audited: int
    num_wrong: float
    bound: Bound


@dataclass(frozen=True, slots=True)
class AuditFindings:
    """What an audit proves: `bound` at any time, `batch` at the end of a batch, or `batch_refused` why there is none.

    `smallest_pool`, `largest_pool` votes of a full panel among the audited items, 0 without any   `num_passed_over`
    votes for items that were not audited   `rejects` the file of the rows set aside, None if there are none
    `read` how the votes were read   `notes` on what was irregular
    """

    tally: AuditCounts
    confidence_level: float
    bound: Bound
    batch: BatchBound | None
    batch_refused: str | None
    checkpoints: tuple[Checkpoint, ...]
    smallest_pool: int
    largest_pool: int
    num_passed_over: int
    seed: int
    min_rate: float
    read: tuple[str, ...]
    notes: tuple[str, ...]
    rejects: str | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The statements to sign: the running one, and that of the batch."""
        batch = f"No end-of-batch statement: {self.batch_refused}"
        if self.batch is not None:
            batch = f"{batch_sentence(self.tally, self.batch)} {BATCH}"
        return f"{running_sentence(self.tally, self.bound)} {RUNNING}", batch

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **asdict(self.tally),
            "confidence_level": self.confidence_level,
            "running": _bound(self.bound),
            "batch": None if self.batch is None else asdict(self.batch),
            "batch_refused": self.batch_refused,
            "checkpoints": [
                {"num_audited": each.num_audited, "num_wrong": each.num_wrong, **_bound(each.bound)}
                for each in self.checkpoints
            ],
            "sentences": self.sentences,
            "assumptions": ASSUMPTIONS,
            "smallest_pool": self.smallest_pool,
            "largest_pool": self.largest_pool,
            "num_passed_over": self.num_passed_over,
            "seed": self.seed,
            "min_rate": self.min_rate,
            "read": self.read,
            "notes": self.notes,
            "rejects": self.rejects,
            "version": __version__,
        }


def _bound(bound: Bound) -> dict[str, Any]:
    return {
        "num_items": bound.num_items,
        "most_wrong": bound.total,
        "most_wrong_share": bound.mean,
        "estimate": bound.estimate,
        "is_informative": bound.is_informative,
    }


def draw_audit(decisions: str | Path, *, rate: float, seed: int, out: str | Path = "audit.csv") -> AuditSample:
    """Draw for each closed, unsettled item whether it is audited, and write the draw to `out`; earlier draws are kept.

    Each item is drawn once, so the seed and the rate must be those of an existing file. Refuses decisions in which a
    drawn item is missing, or its answer or confidence has changed.
    """
    if not isinstance(decisions, str | Path):
        rule = "the path of a file: the audit sample names it, and the report reads it again"
        raise invalid("decisions", type(decisions).__name__, rule, "write the table to a file first.")
    with source_is("decisions"):
        closed, num_open = read_decisions(decisions)
    unsettled = [each for each in closed if not each.is_settled]
    drawn = draw([each.item for each in unsettled], rate, seed=seed)
    old = _drawn_before(out, closed, decisions, rate=float(rate), seed=int(seed))
    known = {row.item for row in old}
    new = tuple(
        DrawnItem(one.item, one.rate, one.audited, each.expected_loss, each.label, each.pool_size)
        for one, each in zip(drawn, unsettled, strict=True)
        if one.item not in known
    )
    rows = old + new
    write_draw(DrawFile(int(seed), float(rate), rows, str(decisions)), out)
    return AuditSample(
        file=str(out),
        seed=int(seed),
        rate=float(rate),
        num_closed=len(closed),
        num_settled=len(closed) - len(unsettled),
        num_open=num_open,
        num_drawn=len(rows),
        num_audited=sum(row.audited for row in rows),
        num_new=len(new),
        to_audit=tuple(row.item for row in new if row.audited),
    )


def report_audit(
    audit: str | Path,
    *,
    votes: str | Path | VotesTable,
    confidence_level: float = 0.95,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> AuditFindings:
    """What the votes of the panels prove about the closed items, in the order of the decisions file.

    The loss of an audited item is 1 - 1/t if its answer is among the t labels tied at the top of the panel, 1 if it is
    not. An item with fewer votes than its pool counts as an error unless they settle it. The decisions are read from
    the file the sample was drawn from; pass a `VotesTable` if the format or columns of the votes are not detected.
    Rows of votes that are set aside are written beside the sample: audit.rejects.csv for audit.csv. `out`: a folder
    for report.html and audit.json; a folder with files is refused unless `overwrite`.
    """
    level = bounded(confidence_level, where="confidence_level", least=0.5, most=0.999)
    alpha = round(1 - level, 12)
    folder = None if out is None else check_free(out, overwrite=overwrite)
    with source_is("audit"):
        drawn = read_draw(audit)
    with source_is("decisions"):
        closed, num_open = read_decisions(drawn.decisions)
    _check_draw(drawn, closed, audit)
    by_item = {row.item: row for row in drawn.rows}
    table = votes if isinstance(votes, VotesTable) else VotesTable(votes)
    panels = read_panels(table, [row.item for row in drawn.rows if row.audited])
    sizes = _pool_sizes(drawn.rows, panels.votes)
    notes = [f"{num_open} items are open or have no answer, and are not included."] if num_open else []
    losses = {item: panel_loss(panel, tidy(by_item[item].label), sizes[item]) for item, panel in panels.votes.items()}
    state, checkpoints = _fold(closed, by_item, losses, min_rate=drawn.min_rate, alpha=alpha)
    tally = AuditCounts(
        num_items=state.num_items,
        num_settled=state.num_settled,
        num_audited=state.num_audited,
        num_wrong=state.known_loss - state.settled_loss,
        num_incomplete=state.num_incomplete,
        settled_loss=state.settled_loss,
    )
    batch, refused = _batch(drawn.rows, losses, alpha)
    aside = Path(audit).with_name(f"{Path(audit).stem}.rejects.csv")
    if panels.report.num_set_aside:
        notes.append(f"Rows of votes set aside: {panels.report.write_rejects(aside)}, listed in {aside}.")
    else:
        aside.unlink(missing_ok=True)  # of an earlier report
    found = AuditFindings(
        tally=tally,
        confidence_level=level,
        bound=checkpoints[-1].bound,
        batch=batch,
        batch_refused=refused,
        checkpoints=checkpoints,
        smallest_pool=min(sizes.values(), default=0),
        largest_pool=max(sizes.values(), default=0),
        num_passed_over=panels.num_passed_over,
        seed=drawn.seed,
        min_rate=drawn.min_rate,
        read=panels.report.decisions,
        notes=(*notes, *panels.notes),
        rejects=str(aside) if panels.report.num_set_aside else None,
    )
    if folder is not None:
        write_audit(found, folder)
    return found


def panel_loss(panel: Counter[str], label: str, pool_size: int) -> float | None:
    """How wrong `label` is by the panel's plurality: 0, 1, or 1 - 1/t in a tie of t; None while votes are missing.

    >>> from collections import Counter
    >>> panel_loss(Counter(cat=3, dog=3), "cat", 6), panel_loss(Counter(cat=4), "dog", 6)
    (0.5, 1.0)
    >>> panel_loss(Counter(cat=3), "cat", 6) is None
    True
    """
    counts = np.array([*panel.values(), 0], dtype=np.int64)
    if not panel or not is_settled(counts, pool_size):
        return None
    top = counts.max()
    share = 1.0 / int((counts == top).sum()) if panel.get(label) == top else 0.0
    return 1.0 - share


def _drawn_before(
    path: str | Path, closed: Sequence[ClosedItem], decisions: str | Path, *, rate: float, seed: int
) -> tuple[DrawnItem, ...]:
    """The earlier draw, if there is one; refuses another seed or rate."""
    if not Path(path).exists():
        return ()
    before = read_draw(path)
    for field, given, known in (("seed", seed, before.seed), ("rate", rate, before.min_rate)):
        if given != known:
            rule = f"{known:g}, as in {path}, because each item is drawn once"
            raise invalid(field, given, rule, "use this value, or pass another `out` for another batch.")
    _check_unchanged(closed, before.rows, decisions)
    return before.rows


def _check_unchanged(closed: Sequence[ClosedItem], rows: Sequence[DrawnItem], decisions: str | Path) -> None:
    """Check that every drawn item is still there, unsettled, with the same answer, confidence and pool."""
    now = {each.item: each for each in closed}
    for row in rows:
        place, each = f"item {shown(row.item)}", now.get(row.item)
        if each is None:
            rule = "a closed item for every item of the draw"
            raise invalid("decisions", str(decisions), rule, "use the decisions of the draw.", place=place)
        same = each.label == row.label and abs(each.expected_loss - row.expected_loss) <= _SAME
        if row.pool_size != each.pool_size:
            rule = f"pool_size {row.pool_size}, as in the draw, not {each.pool_size}"
            raise invalid("decisions", str(decisions), rule, "use the decisions of the draw.", place=place)
        if each.is_settled or not same:
            rule = (
                f"answer {shown(row.label)} with confidence {1 - row.expected_loss:g}, as in the draw, not "
                f"{shown(each.label)} with {each.confidence:g} ({each.reason})"
            )
            fix = "correct answers in another file, and report on the decisions of the draw."
            raise invalid("decisions", str(decisions), rule, fix, place=place)


def _check_draw(drawn: DrawFile, closed: Sequence[ClosedItem], path: str | Path) -> None:
    """Check that the draw belongs to these decisions, covers them, and follows from its seed."""
    _check_unchanged(closed, drawn.rows, drawn.decisions)
    known = {row.item for row in drawn.rows}
    without = [each.item for each in closed if not each.is_settled and each.item not in known]
    if without:
        rule = f"each unsettled closed item, but {len(without)} were not drawn, the first {shown(without[0])}"
        fix = f"run `quorate audit draw` again with seed {drawn.seed}; it keeps the items already drawn."
        raise invalid("audit", str(path), rule, fix)
    again = draw(
        [row.item for row in drawn.rows], [row.rate for row in drawn.rows], seed=drawn.seed, min_rate=drawn.min_rate
    )
    for one, row in zip(again, drawn.rows, strict=True):
        if one.audited != row.audited:
            rule = f"audited {int(one.audited)}, which follows from seed {drawn.seed}, not {int(row.audited)}"
            raise invalid("audit", str(path), rule, "restore the file.", place=f"item {shown(row.item)}")


def _pool_sizes(rows: Sequence[DrawnItem], panels: Mapping[str, Counter[str]]) -> dict[str, int]:
    """The size of the full panel of each audited item; more votes than that are refused."""
    sizes = {row.item: row.pool_size for row in rows if row.audited}
    for item, size in sizes.items():
        if (votes := panels[item].total()) > size:
            rule = f"at most the {size} votes of its full panel"
            fix = "pass the votes of its pool only, or correct the size of the pool."
            raise invalid("votes", votes, rule, fix, place=f"item {shown(item)}")
    return sizes


def _fold(
    closed: Sequence[ClosedItem],
    drawn: Mapping[str, DrawnItem],
    losses: Mapping[str, float | None],
    *,
    min_rate: float,
    alpha: float,
) -> tuple[RunningAudit, tuple[Checkpoint, ...]]:
    """The running audit over the decisions, and its bound at ten points, the last at the end."""
    state = RunningAudit(min_rate=min_rate)
    stops = {-(-len(closed) * k // NUM_CHECKPOINTS) for k in range(1, NUM_CHECKPOINTS + 1)}
    checkpoints = [] if closed else [Checkpoint(0, 0, 0.0, state.bound(alpha))]
    for number, each in enumerate(closed, start=1):
        if each.is_settled:
            state = state.settle(each.settled_loss)
        else:
            row = drawn[each.item]
            state = state.update(
                expected_loss=row.expected_loss, rate=row.rate, audited=row.audited, loss=losses.get(each.item)
            )
        if number in stops:
            wrong = state.known_loss - state.settled_loss
            checkpoints.append(Checkpoint(number, state.num_audited, wrong, state.bound(alpha)))
    return state, tuple(checkpoints)


def _batch(
    rows: Sequence[DrawnItem], losses: Mapping[str, float | None], alpha: float
) -> tuple[BatchBound | None, str | None]:
    found = [losses.get(row.item) for row in rows]
    try:
        return end_of_batch([row.rate for row in rows], [row.audited for row in rows], found, alpha=alpha), None
    except InvalidInput as refused:
        return None, str(refused)

"""`AuditFindings` -> a table, a report and the files of `quorate audit report --out`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from quorate.audit import ASSUMPTIONS, batch_sentence, rounded_up
from quorate.files import write_folder
from quorate.reports import render
from quorate.reports.format import json_page
from quorate.reports.section import Chart, Document, Section, Table
from quorate.reports.svg import lines
from quorate.version import __version__

if TYPE_CHECKING:
    from quorate.commands.audit import AuditFindings, Checkpoint

FILES = ("report.html", "audit.json")


def answer(found: AuditFindings) -> str:
    """The result in one sentence."""
    bound, sure = found.bound, _confidence(found)
    if not bound.is_informative:
        return f"Not enough audits yet: nothing can be signed with {sure} about the {bound.num_items:,} closed items."
    share = f"{rounded_up(100 * bound.mean):.2f} %"
    return f"With {sure}, at most {share} of the {bound.num_items:,} closed items are wrong."


def together(found: AuditFindings) -> str:
    """What the last column of the table means."""
    return f"With {_confidence(found)} all bounds in the last column hold at the same time."


def _confidence(found: AuditFindings) -> str:
    return f"{100 * found.confidence_level:.6g} % confidence"


def batch_statement(found: AuditFindings) -> str:
    """The statement at the end of a batch, or why there is none."""
    if found.batch is None:
        return f"No end-of-batch statement: {found.batch_refused}"
    return batch_sentence(found.tally, found.batch)


def checkpoint_rows(found: AuditFindings) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of the table: estimate and bound at ten points, the last at the end."""
    rows: list[tuple[str, ...]] = [
        (
            f"{each.num_items}",
            f"{each.num_audited}",
            f"{rounded_up(each.num_wrong):g}",
            f"{100 * _estimate(each):.2f}",
            f"{rounded_up(100 * each.bound.mean):.2f}" if each.bound.is_informative else "not enough audits yet",
        )
        for each in found.checkpoints
    ]
    return ("closed items", "audited", "found wrong", "estimate, % wrong", "at most, % wrong"), rows


def _estimate(each: Checkpoint) -> float:
    """The estimated share of wrong items; it is unbiased, so after few audits it may be negative: then 0 is shown."""
    return max(each.bound.estimate / max(each.num_items, 1), 0.0)


def page(found: AuditFindings) -> str:
    """The whole page."""
    return render.page(document(found))


def document(found: AuditFindings) -> Document:
    """The audit as a report."""
    heads, rows = checkpoint_rows(found)
    table = Table("", "Estimate and bound as items closed", heads, tuple(rows), note=together(found))
    return Document(
        title=f"quorate audit: {found.tally.num_items} closed items",
        question="How many closed items can be wrong?",
        answer=answer(found),
        picture=_picture(found),
        sections=(
            Section("statements", "To sign", found.sentences),
            Section("checkpoints", "Over time", tables=(table,)),
        ),
        folded=(
            Section("assumptions", "Assumptions", points=ASSUMPTIONS),
            Section("data", "How the votes were read", points=(*found.read, *found.notes)),
        ),
        footer=f"quorate {__version__}, seed {found.seed}, rate {found.min_rate:g}. Every figure is in audit.json.",
    )


def _picture(found: AuditFindings) -> Chart | None:
    """The bound and the estimate over the closed items; the bound starts where there are enough audits."""
    seen = [each for each in found.checkpoints if each.num_items]
    if not seen:
        return None
    xs = [float(each.num_items) for each in seen]
    bounds = [100 * each.bound.mean if each.bound.is_informative else math.nan for each in seen]
    estimates = [100 * _estimate(each) for each in seen]
    drawn = lines(
        [("line", xs, bounds), ("second", xs, estimates)],
        title="Share of wrong items: bound and estimate",
        x_label="closed items",
        y_label="wrong, %",
        least_top=1.0,
    )
    return Chart(drawn, "Solid: the upper bound. Dotted: the estimate.")


def write_audit(found: AuditFindings, folder: Path) -> tuple[Path, ...]:
    """Write report.html, then audit.json: a folder that has audit.json is complete."""
    return write_folder(folder, dict(zip(FILES, (page(found), json_page(found.summary())), strict=True)))

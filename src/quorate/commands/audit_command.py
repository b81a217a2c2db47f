"""`quorate audit draw` and `quorate audit report`: random audits by the full panel, and what they prove."""

from __future__ import annotations

from typing import Annotated

import typer

from quorate.commands.audit import draw_audit, report_audit
from quorate.commands.audit.files import VotesTable
from quorate.commands.audit.report import FILES, answer, batch_statement, checkpoint_rows, together
from quorate.commands.main import Commands
from quorate.commands.options import Json, Overwrite, option, reads_tables
from quorate.commands.output import print_json, print_lines, print_table
from quorate.tables import OPTIONS, TableOptions

HELP = """
How many closed items can be wrong? Random audits by the full panel, and a statement to sign.

[cyan]quorate audit draw[/cyan] draws closed items at random and writes the audit sample to a file.
Ask the full panel about these items. [cyan]quorate audit report[/cyan] says what their votes prove (docs/audit.md).
"""

TO_SIGN = "With --out a report has the statements to sign, and what they assume."
MOST_NOTES = 3
NOT_READ = tuple(name for name in OPTIONS if name not in ("task", "worker", "label", "format", "abstain_labels"))

app = typer.Typer(name="audit", cls=Commands, help=HELP, no_args_is_help=True, rich_markup_mode="rich")


@app.command("draw")
def draw(
    decisions: Annotated[
        str,
        option(
            "The decisions, as quorate run writes them: CSV, JSONL or Parquet with item, consensus_label, "
            "confidence, stop_reason.",
            "--decisions",
            "-d",
        ),
    ],
    rate: Annotated[float, option("Probability that an unsettled item is audited, above 0.", "--rate", "-q")],
    seed: Annotated[int, option("Seed of the draw; the people who close items must not know it.")],
    out: Annotated[
        str, option("File of the audit sample; kept, and extended by new items.", "--out", "-o")
    ] = "audit.csv",
) -> None:
    """Draw at random which closed items go to the full panel, and write the audit sample.

    Each item that its votes do not settle is drawn with probability --rate. The draw depends on the seed and the item's
    id only. Run it again when there are more decisions: earlier draws are kept, and another seed or rate is refused.

    Example: quorate audit draw --decisions results/decisions.csv --rate 0.1 --seed 7 --out audit.csv
    """
    drawn = draw_audit(decisions, rate=rate, seed=seed, out=out)
    print_lines(
        f"{drawn.num_audited} of {drawn.num_drawn} items go to the full panel: those with audited = 1 in {out}.",
        f"{drawn.num_closed} items are closed, {drawn.num_settled} of them settled; "
        f"{drawn.num_open} are open or have no answer. "
        f"New in this draw: {drawn.num_new} items, {len(drawn.to_audit)} of them audited.",
        *([f"Warning: {drawn.warning}"] if drawn.warning else []),
        "If the full panels' votes are already recorded, as for quorate run, --rate 1 checks every item for free.",
    )


@app.command("report")
@reads_tables(without=NOT_READ)
def report(
    *,
    votes: Annotated[
        str,
        option(
            "Votes of the full panels, in any form quorate run reads; a blank label is a missing vote.", "--votes", "-v"
        ),
    ],
    audit: Annotated[str, option("The audit sample that quorate audit draw wrote.", "--audit", "-a")] = "audit.csv",
    confidence_level: Annotated[float, option("Probability that a statement holds, such as 0.99.")] = 0.95,
    reading: TableOptions,
    out: Annotated[str | None, option("Folder for report.html and audit.json.", "--out", "-o")] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """What the audits prove: how many closed items can be wrong, at any time and at the end of a batch.

    Wrong means different from the full panel's plurality; an answer in a tie of t labels counts 1 - 1/t. An audited
    item with missing votes counts as wrong unless the votes it has settle it.

    Example: quorate audit report --audit audit.csv --votes panel.csv --out proof
    """
    table = VotesTable(votes, **reading.keywords(VotesTable))
    result = report_audit(audit, votes=table, confidence_level=confidence_level, out=out, overwrite=overwrite)
    if json:
        print_json(result.summary())
        return
    heads, rows = checkpoint_rows(result)
    print_lines(answer(result), "")
    print_table(f"How many closed items can be wrong (seed {result.seed})", heads, rows[1::2], text_columns=0)
    print_lines(together(result), batch_statement(result), *result.notes[:MOST_NOTES])
    print_lines("Read " + "; ".join(result.read))
    print_lines(f"Report: {out}/{FILES[0]}" if out is not None else TO_SIGN)

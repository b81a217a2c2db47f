"""`quorate audit draw` and `quorate audit report`: random closed items to the full panel, and what that proves."""

from __future__ import annotations

from typing import Annotated

import typer

from quorate.audit import ASSUMPTIONS
from quorate.audit.statement import rounded_up
from quorate.cli.commands import Commands
from quorate.cli.options import Json
from quorate.cli.output import print_json, print_lines, print_table
from quorate.cli.table_options import reads_tables
from quorate.tables.options import TableOptions
from quorate.version import __version__
from quorate.workflows.audit import AuditReport, draw_audit, report_audit
from quorate.workflows.audit.panels import VotesTable

HELP = """
How many closed items can be wrong? Random audits by the full panel, and a statement to sign.

[cyan]quorate audit draw[/cyan] draws a random sample of the closed items and records it.
Ask the full panel about those. [cyan]quorate audit report[/cyan] says what their votes prove (docs/audit.md).
"""

app = typer.Typer(name="audit", cls=Commands, help=HELP, no_args_is_help=True, rich_markup_mode="rich")


@app.command("draw")
def draw(
    decisions: Annotated[
        str,
        typer.Option(
            "--decisions",
            "-d",
            help="What was decided, as quorate run writes it: CSV, JSONL or Parquet with item, consensus_label, "
            "confidence, stop_reason.",
        ),
    ],
    rate: Annotated[float, typer.Option("--rate", "-q", help="Chance that an unsettled item is audited, above 0.")],
    seed: Annotated[int, typer.Option(help="Seed of the draw; those who close the items must not know it before.")],
    out: Annotated[
        str, typer.Option("--out", "-o", help="File of the audit sample; new items are added to it.")
    ] = "audit.csv",
    json: Json = False,
) -> None:
    """Pick by chance which closed items go to the full panel, and write down which.

    Each item that its votes do not settle is drawn with probability `rate`. The draw depends on the seed and the item's
    id only. Run it again when the decisions have grown: earlier draws stay as they are, and another seed or rate is
    refused.

    Example: quorate audit draw --decisions results/decisions.csv --rate 0.1 --seed 7 --out audit.csv
    """
    drawn = draw_audit(decisions, rate=rate, seed=seed, out=out)
    if json:
        print_json(drawn.summary())
        return
    print_lines(
        f"{drawn.num_closed} closed items, of which {drawn.num_settled} are settled and need no audit; "
        f"{drawn.num_open} are still open.",
        f"{drawn.num_new} items are new, {len(drawn.to_audit)} of them were drawn (rate {rate:g}, seed {seed}).",
        f"In all {drawn.num_audited} of {drawn.num_coins} items go to the full panel: those with audited = 1 in {out}.",
        "The seed and the item's id alone decide whether it is drawn: nobody picks what is checked.",
    )


@app.command("report")
@reads_tables(without=("id_column", "ids", "classes", "items", "accuracy"))
def report(
    *,
    votes: Annotated[
        str,
        typer.Option(
            "--votes",
            "-v",
            help="Votes of the full panels, in any form quorate run reads; a blank label is a missing vote.",
        ),
    ],
    decisions: Annotated[
        str | None, typer.Option("--decisions", "-d", help="The decisions; none: the file the sample was drawn from.")
    ] = None,
    audit: Annotated[
        str, typer.Option("--audit", "-a", help="The sample that quorate audit draw wrote.")
    ] = "audit.csv",
    alpha: Annotated[float, typer.Option(help="Chance that a statement is wrong; 0.05 is 95 % confidence.")] = 0.05,
    pool_size: Annotated[
        int | None,
        typer.Option("--pool-size", "-n", help="Votes of a full panel, if the decisions have no column pool_size."),
    ] = None,
    rejects: Annotated[
        str | None,
        typer.Option(
            help="File for the rows of votes that are set aside, with the reason; none: beside the sample, "
            "audit.rejects.csv for audit.csv."
        ),
    ] = None,
    reading: TableOptions,
    json: Json = False,
) -> None:
    """What the audits prove: how many closed items can be wrong, however often you look, and at the end of a batch.

    Wrong means other than the full panel's plurality; sharing a tie of t labels counts 1 - 1/t. An audited panel with
    votes missing counts as wrong unless the votes at hand settle it.

    Example: quorate audit report --audit audit.csv --votes panel.csv --alpha 0.05
    """
    table = VotesTable(votes, **reading.keywords(VotesTable))
    result = report_audit(audit, decisions=decisions, votes=table, alpha=alpha, pool_size=pool_size, rejects=rejects)
    if json:
        print_json(result.summary())
        return
    _print(result)


def _print(result: AuditReport) -> None:
    rows = [
        (
            f"{each.num_items}",
            f"{each.num_audited}",
            f"{rounded_up(each.num_wrong):g}",
            f"{100 * each.bound.estimate / max(each.num_items, 1):.2f}",
            f"{rounded_up(100 * each.bound.mean):.2f}" if each.bound.is_informative else "not enough audits yet",
        )
        for each in result.checkpoints
    ]
    heads = (
        "closed items",
        "audited",
        "found wrong",
        "estimate, % wrong",
        f"at most, % wrong (alpha {result.bound.alpha:g})",
    )
    title = f"How many closed items can be wrong, as they closed (quorate {__version__}, seed {result.seed})"
    print_table(title, heads, rows, text_columns=0)
    print_lines(
        f"With {100 * (1 - result.bound.alpha):g} % confidence no number of the last column is too low, in any row.",
        "",
    )
    print_lines(*(line for sentence in result.sentences for line in (sentence, "")))
    print_lines("This rests on:", *(f"- {each}" for each in ASSUMPTIONS), *result.notes)

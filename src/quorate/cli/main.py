"""`quorate`: the command line. Each command has its own file and is thin: parse, call one function, print.

`commands.py` imports the file of a command when the command runs, so that `quorate --help` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from quorate.cli.commands import LazyCommands, add_commands
from quorate.version import __version__

HELP = """
Decides, online, when enough experts have been asked.

A classifier predicts each item for free, N experts can be asked one at a time, and the truth is the plurality of the
whole pool: quorate computes how sure the answer already is, and asks only while a further vote is worth it.

[bold]First commands[/bold]

[cyan]quorate demo[/cyan]  every method on built-in streams, under a minute: tables, a plot, a report

[cyan]quorate run --votes votes.csv --predictions probs.csv --out results[/cyan]  your own tables: how many were enough?

[cyan]quorate plan --votes pilot.csv --predictions probs.csv --price 0.08[/cyan]  which setting next month, and how sure

[cyan]quorate serve[/cyan]  experts vote in the browser, items close when enough have

[cyan]quorate decide --prediction 0.7,0.2,0.1 --votes 1,0,0 --pool-size 6[/cyan]  one decision

[cyan]quorate simulate --method quorate --method beta --accuracy 0.9[/cyan]  error and cost on a stream like yours

[cyan]quorate reproduce --quick[/cyan]  the paper's experiments on real data, beside its printed figures

[cyan]quorate methods[/cyan]  what there is to choose from
"""

NEXT = """
[bold]Where to go next[/bold]  In Python: [cyan]quorate.Session[/cyan] runs a live annotation loop, journals it and
learns how far the classifier can be trusted. `quorate COMMAND --help` explains each option, docs/session.md
a live session. Exit codes: 0 fine, 1 a mistake in what was asked (one line on stderr says which), 2 usage, 130 Ctrl-C.
"""


app = typer.Typer(
    name="quorate", cls=LazyCommands, help=HELP, epilog=NEXT, rich_markup_mode="rich", no_args_is_help=True,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"quorate {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    """Options of the command itself."""


add_commands(app)


def main() -> None:
    """Entry point of the `quorate` command."""
    app(prog_name="quorate")

"""The entry point of `quorate`. Each command has its own thin file: parse, call one function, print.

The file of a command is imported only when the command runs, so that `quorate --help` is fast: it lists names and
sentences from one table. Errors are one line that names the options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from quorate.commands.output import number_hints, option_names, plain_errors
from quorate.errors import MissingExtra
from quorate.version import __version__

if TYPE_CHECKING:
    from click import Command, Context


SENTENCES = {  # command -> what it does
    "demo": "Ten methods on a built-in stream at equal cost: a table, a plot and a report you can open offline.",
    "run": "Decisions from your own tables: how many votes would have been enough, and how often would that be wrong?",
    "plan": "Which setting for the next batch? For a target error, a budget or a recall, and how sure that is.",
    "score": "Posterior, confidence and ask or stop for every item, with parameters learned before; no state is kept.",
    "experts": "How good and how careful is each person, and how far do they agree? From votes that name their voters.",
    "decide": "Ask one more expert, or stop? One decision from the numbers you type.",
    "methods": "Every method to choose from, one sentence each, with its parameters and their defaults.",
    "reproduce": "The paper's experiments on the real data, beside its printed figures; and the data sets they need.",
    "serve": "Serve projects in the browser and over an API: experts vote, quorate decides when enough have voted.",
    "service": "Manage the database of `quorate serve`: backup, copy, check, links, keys and accounts "
    "(docs/service.md).",
    "connect": "Let people answer in a tool they already use; quorate decides when enough have answered "
    "(docs/howto/label-studio.md).",
    "audit": "How many closed items can be wrong? Random audits by the full panel, and a statement to sign.",
}
MODULES = {  # command -> the module of its command line; those of the other packages are found when they are called
    **{name: f"quorate.commands.{name}_command" for name in ("audit", "decide", "demo", "experts", "methods")},
    **{name: f"quorate.commands.{name}_command" for name in ("plan", "run", "score")},
    **{name: f"quorate_service.cli.{name}" for name in ("connect", "serve", "service")},
    "reproduce": "quorate_paper.reproduce_command",
}
TYPED = "quorate.typed"  # key of the command line's words in a context's `meta`
NEED_SERVICE = ("serve", "service", "connect")
INSTALL_SERVICE = "the service is not installed: pip install 'quorate[service]' (with PostgreSQL: 'quorate[postgres]')"


@cache
def load(name: str) -> Any:  # noqa: ANN401 - click's Command, which typer has a copy of
    """Import the command or the group of this name; the terminal wraps its help."""
    try:
        module = import_module(MODULES[name])
    except ModuleNotFoundError as cause:
        if name in NEED_SERVICE and not (cause.name or "quorate").startswith("quorate"):
            raise MissingExtra(INSTALL_SERVICE) from cause
        raise
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode="rich")
        app.command(name)(getattr(module, name))
    loaded = typer.main.get_command(app)
    for each in (loaded, *getattr(loaded, "commands", {}).values()):
        each.help = unwrapped(each.help or "")
    return loaded


def unwrapped(text: str) -> str:
    """The text with each paragraph on one line, so that the terminal wraps it; there are no lists in it.

    >>> unwrapped("One\\nparagraph.\\n\\nAnother.")
    'One paragraph.\\n\\nAnother.'
    """
    return "\n\n".join(" ".join(paragraph.strip().splitlines()) for paragraph in text.split("\n\n"))


class Commands(TyperGroup):
    """A group whose commands report errors in one line, also under the test runner."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Keep what was typed, for hints in errors."""
        ctx.meta[TYPED] = tuple(args)
        return super().parse_args(ctx, args)  # type: ignore[arg-type]

    def invoke(self, ctx: Context) -> Any:  # type: ignore[override]  # noqa: ANN401 - whatever the command returns
        """Run the command."""
        with (
            number_hints(ctx.meta[TYPED]),
            plain_errors(lambda: option_names(self.commands.get(ctx.invoked_subcommand or ""))),
        ):
            return super().invoke(ctx)  # type: ignore[arg-type]


class _Loaded(Mapping[str, Any]):
    """The commands of `SENTENCES`, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Command:
        if name not in SENTENCES:
            raise KeyError(name)
        loaded: Command = load(name)
        return loaded

    def __iter__(self) -> Iterator[str]:
        return iter(SENTENCES)

    def __len__(self) -> int:
        return len(SENTENCES)


class LazyCommands(Commands):
    """The commands of `SENTENCES`: the help shows their sentences without importing them."""

    def __init__(self, **attrs: Any) -> None:  # noqa: ANN401 - those of typer
        super().__init__(**attrs)
        self.listed = dict(self.commands)
        self.commands = _Loaded()  # type: ignore[assignment]

    def list_commands(self, ctx: Context) -> list[str]:  # type: ignore[override]
        """Their names, in the order of the help."""
        return list(SENTENCES)

    def get_command(self, ctx: Context, cmd_name: str) -> Any:  # type: ignore[override]  # noqa: ANN401
        """A placeholder with the name and the sentence, for the help; `resolve_command` returns the real command."""
        return self.listed.get(cmd_name)

    def resolve_command(self, ctx: Context, args: list[str]) -> Any:  # type: ignore[override]  # noqa: ANN401
        """The command that the arguments begin with, imported."""
        name, command, rest = super().resolve_command(ctx, args)  # type: ignore[arg-type]
        return name, command and load(name or ""), rest


def add_commands(app: typer.Typer) -> None:
    """Let the help of `app` list every command."""
    for name, sentence in SENTENCES.items():
        app.command(name, help=sentence)(lambda: None)


HELP = """
Decides, online, when enough experts have been asked.

A classifier predicts each item for free, N experts can be asked one at a time, and the truth is the plurality of the
whole pool. quorate computes how sure the answer already is, and asks only while another vote is worth it.

[bold]First commands[/bold]

[cyan]quorate demo[/cyan]  ten methods on a built-in stream, in seconds: a table, a plot, a report

[cyan]quorate run --votes votes.csv --predictions probs.csv --out results[/cyan]  your own tables: how many were enough?

[cyan]quorate plan --votes pilot.csv --predictions probs.csv --target-error 0.03[/cyan]  a setting for next month

[cyan]quorate serve[/cyan]  experts vote in the browser, items close when enough have voted

[cyan]quorate decide --prediction 0.7,0.2,0.1 --votes 1,0,0 --pool-size 6[/cyan]  one decision

[cyan]quorate reproduce all --quick[/cyan]  the paper's experiments on real data, beside its printed figures

[cyan]quorate methods[/cyan]  every method to choose from
"""

NEXT = """
[bold]Where to go next[/bold]  In Python: [cyan]quorate.Session[/cyan] runs a live annotation loop, journals it and
learns how far the classifier can be trusted. `quorate COMMAND --help` explains each option, docs/session.md
a live session. Exit codes: 0 success, 1 invalid input (one line on stderr says what), 2 wrong usage, 130 Ctrl-C.
"""


app = typer.Typer(
    name="quorate", cls=LazyCommands, help=unwrapped(HELP), epilog=unwrapped(NEXT), rich_markup_mode="rich",
    no_args_is_help=True, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"quorate {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Options of the command itself."""


add_commands(app)


def main() -> None:
    """Entry point of the `quorate` command."""
    app(prog_name="quorate")

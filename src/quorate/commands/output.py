"""Printing for people and for programs: tables and sentences on stdout, progress and errors on stderr."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import typer

from quorate.errors import QuorateError, with_names
from quorate.progress import lines, time_left

if TYPE_CHECKING:
    from quorate.types import Progress as Report

# Arguments of the library whose option has another name: argument -> parameter of the command.
ALIASES = {
    "num_bins": "bins",
    "num_items": "items",
    "num_classes": "classes",
    "methods": "method",
    "path": "file",
}


def option_names(command: object) -> dict[str, str]:
    """Argument of the library -> option (or argument) of the command, as the help names it; also for a group."""
    found: dict[str, str] = {}
    for each in getattr(command, "commands", {}).values():
        found |= option_names(each)
    for param in getattr(command, "params", ()):
        long = [name for name in param.opts if name.startswith("--")]
        if long:
            found[param.name] = long[0]
        elif param.param_type_name == "argument":
            found[param.name] = param.name.upper()
    return found | {alias: found[name] for alias, name in ALIASES.items() if name in found}


Options = Callable[[], Mapping[str, str]]
_OPTIONS: ContextVar[Options] = ContextVar("options", default=dict)  # of the running command: see `plain_errors`


@contextmanager
def plain_errors(options: Options = dict) -> Iterator[None]:
    """Turn errors that a user can cause into one line on stderr: no traceback, exit code 1 (130 for Ctrl-C).

    `options`: argument of the library -> option of the command, for messages.
    """
    _OPTIONS.set(options)
    try:
        yield
    except QuorateError as problem:
        fail(getattr(problem, "in_shell", None) or problem.render(options()))
    except OSError as problem:
        if problem.errno == errno.EPIPE:  # `quorate methods | head`: typer handles it
            raise
        fail(f"{problem.filename or 'output'}: {problem.strerror or problem}")
    except MemoryError:
        fail("not enough memory; use fewer items, experts or classes.")
    except KeyboardInterrupt:
        print("quorate: interrupted", file=sys.stderr)
        raise typer.Exit(130) from None


@contextmanager
def number_hints(typed: Sequence[str]) -> Iterator[None]:
    """Add the correct form to the error if a number was typed as 2,50 or 3%; `typed`: the words of the command."""
    try:
        yield
    except typer.BadParameter as problem:
        for name in getattr(problem.param, "opts", ()):
            problem.message += number_hint(name, typed)
        raise


def number_hint(option: str, typed: Sequence[str]) -> str:
    """What to write instead, if the value of `option` is a number with a comma or a percentage; else "".

    >>> number_hint("--price", ["--price", "2,50"]), number_hint("--target-error", ["--target-error=3%"])
    ('; write --price 2.50', '; write a share: --target-error 0.03')
    """
    words = [part for word in typed for part in (word.split("=", 1) if word.startswith("--") else [word])]
    value = next((after.strip() for word, after in pairwise(words) if word == option), "")
    if re.fullmatch(r"[-+]?\d+,\d+", value):
        return f"; write {option} {value.replace(',', '.')}"
    if re.fullmatch(r"\d+([.,]\d+)?\s*%", value):
        return f"; write a share: {option} {float(value.rstrip('% ').replace(',', '.')) / 100:g}"
    return ""


def fail(message: str) -> None:
    """One line on stderr, exit code 1."""
    print("quorate: " + " ".join(message.split()), file=sys.stderr)
    raise typer.Exit(1)


def print_json(content: dict[str, Any]) -> None:
    """Strict JSON on stdout, nothing else; numbers that are not finite are null."""
    from quorate.reports.format import json_page

    print(json_page(content), end="")


def print_lines(*lines: str) -> None:
    """Sentences on stdout, of at most 100 columns, or as many as the terminal has."""
    from quorate.reports.format import WIDTH, wrapped

    width = min(WIDTH, get_terminal_size((WIDTH, 24)).columns) if sys.stdout.isatty() else WIDTH
    for line in lines:
        print(*wrapped(line, width), sep="\n")


def print_screen(lines: Sequence[str]) -> None:
    """Lines on stdout, with the names of options in place of those of arguments."""
    print_lines(*(with_names(line, _OPTIONS.get()()) for line in lines))


def print_table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1, strong: str | None = None
) -> None:
    """A table on stdout; the first `text_columns` are text, the rest numbers; rows of `strong` are highlighted.

    The first two columns of text keep their lines whole, unless they are the last.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:  # a pipe or a file has no width of its own
        console = Console(highlight=False, width=100)
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for number, head in enumerate(heads):
        table.add_column(
            head,
            justify="left" if number < text_columns else "right",
            overflow="fold",
            no_wrap=number < min(text_columns, 2, len(heads) - 1),
        )
    for row in rows:
        table.add_row(*row, style="bold cyan" if row[0] == strong else None)
    console.print(table)


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Report | None]:
    """Progress on stderr while the block runs: a bar on a terminal, else an occasional line.

    Yields `report(done, total, what)`.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None if quiet else lines()
        return
    columns = (BarColumn(24), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task, left = bar.add_task("starting", total=None), time_left()

        def report(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{left(done, total)}{what}")

        yield report

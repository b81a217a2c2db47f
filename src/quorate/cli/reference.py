"""Writes docs/cli.md from the program itself: `python -m quorate.cli.reference > docs/cli.md`; a test checks it."""

from __future__ import annotations

import re
from typing import Any

import typer

from quorate.cli.main import app

INTRO = """# The command line

Made from the program by `python -m quorate.cli.reference`; do not edit by hand.

Every command prints for people, and JSON with `--json`. Progress goes to stderr. Exit codes: 0 fine; 1 a mistake in
what was asked, said in one line on stderr; 2 usage; 130 Ctrl-C. Run with `--install-completion` once, it makes your
shell complete commands, options and the values of `--method`, `--order`, `--format` and the like.
"""


def reference() -> str:
    """The whole page."""
    group: Any = typer.main.get_command(app)
    return INTRO + "".join(_section(name, command) for name, command in group.commands.items())


def _section(name: str, command: Any) -> str:  # noqa: ANN401
    if hasattr(command, "commands"):  # a group: its page, then those of its commands
        parts = (_section(f"{name} {each}", inner) for each, inner in command.commands.items())
        return f"\n## `quorate {name}`\n\n{_plain(command.help)}\n" + "".join(parts)
    options = [parameter for parameter in command.params if parameter.name != "help"]
    rows = "".join(f"| `{', '.join(option.opts)}` | {_cell(option)} |\n" for option in options)
    table = f"\n| option | meaning |\n|---|---|\n{rows}" if rows else ""
    return f"\n## `quorate {name}`\n\n{_plain(command.help)}\n{table}"


def _cell(option: Any) -> str:  # noqa: ANN401
    text = _plain(option.help or "").replace("\n", " ").replace("|", "\\|")
    default = option.default() if callable(option.default) else option.default
    if option.required:
        return f"{text} Required."
    return text if default is None or default is False or default in ([], ()) else f"{text} Default: `{default}`."


def _plain(text: str) -> str:
    """Help without its markup for terminals."""
    return re.sub(r"\[/?(bold|cyan|dim|green|yellow)\]", "", text).strip()


if __name__ == "__main__":
    print(reference(), end="")

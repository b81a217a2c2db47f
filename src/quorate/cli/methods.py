"""`quorate methods`: every method, one sentence each, with its knobs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from quorate.cli.output import print_json, print_lines, print_table
from quorate.version import __version__


def methods(json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False) -> None:
    """Every method to choose from, one sentence each, with its knobs and their defaults.

    Write knobs behind the name, as in quorate simulate --method quorum:votes=4 --method quorate:min_gain=0.01
    """
    from quorate.catalogue import catalogue

    entries = catalogue()
    if json:
        listed = [{"name": entry.name, "sentence": entry.sentence, "knobs": entry.knobs} for entry in entries]
        print_json({"version": __version__, "methods": listed})
        return
    rows = [(entry.name, _knobs(entry.knobs), entry.sentence) for entry in entries]
    heads = ("method", "knobs", "what it does")
    print_table(f"Methods of quorate {__version__}", heads, rows, text_columns=3, strong="quorate")
    print_lines("Knobs go behind the name: quorate simulate --method quorum:votes=4")


def _knobs(knobs: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in knobs.items()) or "none"

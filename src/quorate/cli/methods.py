"""`quorate methods`: every method, one sentence each, with its parameters."""

from __future__ import annotations

from collections.abc import Mapping

from quorate.catalogue import catalogue
from quorate.cli.options import Json
from quorate.cli.output import print_json, print_lines, print_table
from quorate.version import __version__


def methods(json: Json = False) -> None:
    """Every method to choose from, one sentence each, with its parameters and their defaults.

    Write parameters after the name, as in quorate run --method quorum:votes=4 --method value:error_cost=100
    """
    entries = catalogue()
    if json:
        listed = [{"name": entry.name, "sentence": entry.sentence, "parameters": entry.parameters} for entry in entries]
        print_json({"version": __version__, "methods": listed})
        return
    rows = [(entry.name, f"{entry.sentence}\n{_parameters(entry.parameters)}") for entry in entries]
    heads = ("method", "what it does, and its parameters")
    print_table(f"Methods of quorate {__version__}", heads, rows, text_columns=2, strong="value")
    print_lines("Parameters follow the name: quorate run --method quorum:votes=4")


def _parameters(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value}" for key, value in parameters.items()) or "no parameters"

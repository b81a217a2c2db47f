"""`quorate methods`: every method, one sentence each, with its parameters."""

from __future__ import annotations

from quorate.catalogue import GROUPS, MethodEntry, catalogue, parameter_text
from quorate.cli.options import Json
from quorate.cli.output import print_json, print_lines
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
    by_name = {entry.name: entry for entry in entries}
    for group, names in GROUPS.items():
        print_lines(f"{group}:")
        print_lines(*(_line(by_name[name]) for name in names))
    print_lines("Parameters follow the name: quorate run --method quorum:votes=4")


def _line(entry: MethodEntry) -> str:
    """Name, sentence and parameters, in less than 100 columns."""
    return f"  {entry.name:<19}{entry.sentence:<57}{parameter_text(entry.parameters)}".rstrip()

"""`quorate methods`: every method, one sentence each, with its parameters."""

from __future__ import annotations

from quorate.commands.output import print_lines
from quorate.methods import GROUPS, MethodEntry, catalogue, parameter_text


def methods() -> None:
    """Every method to choose from, one sentence each, with its parameters and their defaults.

    Write parameters after the name, as in quorate run --method quorum:votes=4 --method value:error_cost=100
    """
    by_name = {entry.name: entry for entry in catalogue()}
    for group, names in GROUPS.items():
        print_lines(f"{group}:")
        print_lines(*(_line(by_name[name]) for name in names))
    print_lines("Parameters follow the name: quorate run --method quorum:votes=4")


def _line(entry: MethodEntry) -> str:
    """Name, sentence and parameters, in less than 100 columns."""
    return f"  {entry.name:<19}{entry.sentence:<57}{parameter_text(entry.parameters)}".rstrip()

"""Options that several commands have, and what a shell completes behind an option."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from quorate.methods import METHODS


def one_of(*values: str) -> Callable[[str], list[str]]:
    """What completes to one of the values.

    >>> one_of("time", "given", "shuffled")("t")
    ['time']
    """

    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


method_names = one_of(*METHODS)

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def class_list(text: str) -> list[str]:
    """The classes as typed, with commas.

    >>> class_list("cat, dog")
    ['cat', 'dog']
    """
    return [name.strip() for name in text.split(",")]

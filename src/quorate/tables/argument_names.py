"""Errors of readers, which call what they read `source` or `path` -> errors that name the caller's argument.

`quorate.run(votes="vote.csv")` must complain of `votes`; the commands turn that into `--votes`. Called by workflows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from quorate.errors import InvalidInput

READERS = re.compile(r"^(?:source|path)=")


@contextmanager
def said_as(argument: str) -> Iterator[None]:
    """While the block runs, or the function it decorates, what is read is called `argument`.

    >>> with said_as("votes"):
    ...     raise InvalidInput("source='vote.csv' is not a file; name one that exists.")
    Traceback (most recent call last):
    quorate.errors.InvalidInput: votes='vote.csv' is not a file; name one that exists.
    """
    try:
        yield
    except InvalidInput as problem:
        if not READERS.match(str(problem)):
            raise
        raise type(problem)(READERS.sub(f"{argument}=", str(problem))) from problem

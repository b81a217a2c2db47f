"""Where a file is written before it is proven: `NAME.part`, for one writer at a time. Called by `fetch`.

A folder's lock tells writers apart. Who has it writes `NAME.part`, which the next command resumes if this one breaks
off; who comes meanwhile writes a part of its own, and removes it if it comes to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows has no locks on folders: every part is its writer's own there, and none is resumed
    flock = None  # type: ignore[assignment]


@contextmanager
def part_file(final: Path) -> Iterator[Path]:
    """The path to write what shall become `final`, nobody else's while the block runs.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, part_file(Path(folder) / "a.pkl") as ours:
    ...     with part_file(Path(folder) / "a.pkl") as theirs:
    ...         ours.name, theirs == ours
    ('a.pkl.part', False)
    """
    with _alone(final.parent) as alone:
        if alone:
            yield final.with_name(f"{final.name}.part")
            return
        own = final.with_name(f".{final.name}.{uuid4().hex}.part")
        try:
            yield own
        finally:
            own.unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Whether this writer has the folder's lock; it falls with the block, or with the process, however it ends."""
    if flock is None:
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _locked(handle)
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except OSError:  # another has it, or this file system has no locks
        return False
    return True

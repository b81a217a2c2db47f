"""The size limit for unpacked files (.gz, .npz, .xlsx, Parquet) and for vote counts, and the error beyond it.

The limit is QUORATE_MAX_SIZE, by default 2GB; the commands that read tables set it with --max-size. Files that are not
packed are not limited, except pickles and single JSON records, whose objects take many times their bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quorate.errors import InvalidInput
from quorate.validate import broken

VARIABLE = "QUORATE_MAX_SIZE"
DEFAULT = "2GB"
VOTE_BYTES = 90  # memory of one vote (docs/tables.md)
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def max_size() -> int:
    """Bytes a file may unpack to."""
    return parse_size(os.environ.get(VARIABLE) or DEFAULT)


def parse_size(text: str) -> int:
    """A size in bytes.

    >>> parse_size("20GB"), parse_size("1.5 MB")
    (20000000000, 1500000)
    """
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?B?)", text.strip().upper())
    unit = None if found is None else _UNITS.get(found[2] if found[2].endswith("B") else f"{found[2]}B")
    if found is None or unit is None or (size := int(float(found[1]) * unit)) < 1:
        raise broken("max_size", text, "a size above 0 such as 500MB or 20GB", "write a number and MB or GB.")
    return size


@contextmanager
def limited_to(text: str | None) -> Iterator[None]:
    """Use another limit within the block, also in processes started there; None changes nothing."""
    before = os.environ.get(VARIABLE)
    if text is not None:
        parse_size(text)
        os.environ[VARIABLE] = text
    try:
        yield
    finally:
        if text is not None:
            os.environ.pop(VARIABLE, None) if before is None else os.environ.update({VARIABLE: before})


def check_size(file: Path, num_bytes: int) -> None:
    """Refuse a file that unpacks to more than the limit and more than its size on disk."""
    limit = max_size()
    if num_bytes > limit and num_bytes > file.stat().st_size:
        raise too_large(file, num_bytes, limit)


def check_votes(source: str, num_votes: int) -> None:
    """Refuse counts whose votes would need more memory than the limit."""
    num_bytes, limit = VOTE_BYTES * num_votes, max_size()
    if num_bytes > limit:
        raise too_large(source, num_bytes, limit)


def too_large(file: Path | str, num_bytes: int, limit: int) -> InvalidInput:
    """The error, with the size found (so far) and the option that raises the limit."""
    allow = f"{-(-num_bytes // 10**9) * 2}GB"
    fix = f"if you trust the file, set {VARIABLE}={allow}, or pass --max-size {allow} to a command that reads tables."
    return broken("max_size", num_bytes, f"at most {limit} bytes unpacked", fix, place=str(file))

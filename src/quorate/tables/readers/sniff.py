"""The first bytes of a text table -> its encoding and its delimiter.

Called by `open_files`. Byte-order marks name the encoding; without one the text is UTF-8.
"""

from __future__ import annotations

import codecs
import csv
from dataclasses import dataclass

DELIMITERS = (",", "\t", ";", "|")
MOST_RECORDS = 30  # looked at to choose the delimiter
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What the head of a text table says: `columns` the header's names, in order."""

    encoding: str
    has_mark: bool
    delimiter: str
    columns: tuple[str, ...]


def sniff(head: bytes, *, is_cut: bool = False) -> Sniffed:
    """Encoding, delimiter and header from the first bytes; if they are not all (`is_cut`), their last line is left out.

    >>> sniff("task;worker;label\\n1;ann;cat\\n".encode("utf-8-sig"))
    Sniffed(encoding='utf-8', has_mark=True, delimiter=';', columns=('task', 'worker', 'label'))
    """
    encoding, has_mark = encoding_of(head)
    lines = head.decode(encoding, errors="replace").removeprefix("\ufeff").splitlines(keepends=True)
    whole = lines[:-1] if is_cut else lines
    parsed = {each: _records(whole, each) for each in DELIMITERS}
    best = max(DELIMITERS, key=lambda each: _score(parsed[each]))
    header = parsed[best][0] if parsed[best] else []
    return Sniffed(encoding, has_mark, best, tuple(header))


def encoding_of(head: bytes) -> tuple[str, bool]:
    """The encoding, and whether a byte-order mark says so."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, True
    return "utf-8", False


def _records(lines: list[str], delimiter: str) -> list[list[str]]:
    records: list[list[str]] = []
    try:
        for record in csv.reader(lines, delimiter=delimiter):
            records.append(record)
            if len(records) == MOST_RECORDS:
                break
    except csv.Error:  # a field beyond csv's limit: what was read before it is enough
        pass
    return records


def _score(records: list[list[str]]) -> tuple[float, int]:
    """How many records have as many cells as the header, then how many cells that is."""
    if not records or len(records[0]) < 2:
        return (0.0, 0)
    filled = [record for record in records if record]
    alike = sum(len(record) == len(records[0]) for record in filled)
    return (alike / len(filled), len(records[0]))

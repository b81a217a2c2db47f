"""The text of a journal file: how an event becomes a line, and how lines are checked and read back.

One JSON object per line, UTF-8, ended by a newline. The last field of each, `crc`, is 8 hex digits of the CRC-32 of
the line's bytes without that field (`,"crc":"01234567"`) and without the newline. Line 1 is the header, line n + 1 is
event n. Used by jsonl.py, and by tools through `read_journal`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from quorate.errors import JournalCorrupt, JournalError
from quorate.files import failure
from quorate.session.journal import FIRST_SEQ, PROGRESS_EVERY, Event, Header, Progress, as_json
from quorate.validate import invalid
from quorate.version import __version__

FORMAT = 3
MAGIC = b'{"quorate_journal":'  # start of the header, in this and every later format
_FRAME = ("quorate_journal", "version", "crc")
_CRC_START, _CRC_END = b',"crc":"', b'"}'
_CRC_LENGTH = len(_CRC_START) + 8 + len(_CRC_END)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"it contains {name}, which is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def header_line(header: Mapping[str, Any]) -> bytes:
    """The first line: format, package version, then the session's settings."""
    taken = [name for name in _FRAME if name in header]
    if taken:
        raise _reserved("header", taken[0])
    return encode_line({"quorate_journal": FORMAT, "version": __version__, **header}, what="header")


def encode_line(content: Mapping[str, Any], *, what: str) -> bytes:
    """One line, with checksum and newline.

    >>> encode_line({"seq": 1, "type": "vote", "time": 0.5}, what="event 1")
    b'{"seq":1,"type":"vote","time":0.5,"crc":"563f6e54"}\\n'
    """
    if "crc" in content:
        raise _reserved(what, "crc")
    body = as_json(content, what=what)
    return b'%b,"crc":"%08x"}\n' % (body[:-1], crc32(body))


def _reserved(what: str, name: str) -> JournalError:
    rule = "another field name: this one is reserved for the journal"
    return invalid(what, name, rule, "rename the field.", error=JournalError)


def decode_line(line: bytes) -> dict[str, Any]:
    """The content of a line without its newline, or ValueError with what is wrong."""
    body, mark = line[:-_CRC_LENGTH] + b"}", line[-_CRC_LENGTH:]
    if not (mark.startswith(_CRC_START) and mark.endswith(_CRC_END)):
        raise ValueError("it does not end in a checksum")
    written, computed = mark[len(_CRC_START) : -len(_CRC_END)], b"%08x" % crc32(body)
    if written != computed:
        raise ValueError(f"its checksum is {written.decode('ascii', 'replace')}, its content gives {computed.decode()}")
    try:
        content = _DECODER.decode(body.decode())
    except RecursionError as cause:
        raise ValueError("it is nested too deeply") from cause
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    return content


def read_header(path: Path) -> Header | None:
    """The header; None if the file is empty or its header is incomplete."""
    try:
        with path.open("rb") as file:
            line = file.read(len(MAGIC))
            if line[: len(MAGIC)] == MAGIC:
                line += file.readline()
    except OSError as cause:
        raise failure(path, "a file that can be read", cause) from cause
    if not line.startswith(MAGIC) and not MAGIC.startswith(line):
        rule = f"a quorate journal, which begins with {MAGIC.decode()}, not with {line!r}"
        raise _unreadable(path, rule, "Pass another path; this file was not changed.")
    if not line.endswith(b"\n"):
        refuse_damaged_newline(path, line, number=1, offset=0)
        return None
    return _checked_header(path, line)


def _checked_header(path: Path, line: bytes) -> Header:
    try:
        content = decode_line(line[:-1])
    except ValueError as cause:
        raise _corrupt(path, 1, 0, str(cause)) from cause
    found = content.get("quorate_journal")
    if found != FORMAT:
        rule = f"a journal of format {FORMAT}, which quorate {__version__} reads, not of format {found!r}"
        raise _unreadable(path, rule, f"Read it with quorate {content.get('version')}, which wrote it.")
    return {name: value for name, value in content.items() if name not in _FRAME}


def scan_events(path: Path, *, end: int | None = None, progress: Progress | None = None) -> Iterator[Event]:
    """Every committed event of the first `end` bytes (None: of the current size), each checked.

    Stops before a torn last line; raises JournalCorrupt at any other line that is not the expected event.
    """
    total = _size(path) if end is None else end
    offset = 0
    for number, line in enumerate(_lines(path), start=1):
        if offset + len(line) > total:
            break  # written after reading began
        if not line.endswith(b"\n"):
            refuse_damaged_newline(path, line, number=number, offset=offset)
            break
        if number > 1:
            yield _checked_event(path, line, number, offset)
        offset += len(line)
        if progress is not None and (number % PROGRESS_EVERY == 0 or offset == total):
            progress(offset, total)
    if end is not None and offset != end:
        rule = f"a file that does not change while it is read; it shrank from {end} to {offset} bytes"
        raise _unreadable(path, rule, "read it again.")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as cause:
        raise failure(path, "a file that can be read", cause) from cause


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as cause:
        raise failure(path, "a file that can be read", cause) from cause


def _checked_event(path: Path, line: bytes, number: int, offset: int) -> Event:
    try:
        event = decode_line(line[:-1])
    except ValueError as cause:
        raise _corrupt(path, number, offset, str(cause)) from cause
    expected = number - 2 + FIRST_SEQ
    if type(event.get("seq")) is not int or event["seq"] != expected:
        raise _corrupt(path, number, offset, f"its seq is {event.get('seq')!r} instead of {expected}")
    return event


def refuse_damaged_newline(path: Path, tail: bytes, *, number: int, offset: int) -> None:
    """Refuse a complete last line with another byte in place of its newline: it was committed, not torn."""
    try:
        decode_line(tail[:-1])
    except ValueError:
        return
    raise _corrupt(path, number, offset, f"it ends in {tail[-1:]!r} instead of a newline")


def _corrupt(path: Path, number: int, offset: int, wrong: str) -> JournalCorrupt:
    return JournalCorrupt(
        field="journal",
        value=str(path),
        rule=f"a line written by quorate, but {wrong}",
        fix="Restore the file from a copy; or, to drop this line and all after it, keep the first "
        f"{offset} bytes: head -c {offset} {path.name} > repaired",
        place=f"line {number}, byte {offset}",
        line=number,
    )


def _unreadable(path: Path, rule: str, fix: str) -> JournalError:
    return invalid("journal", str(path), rule, fix, error=JournalError)


def read_journal(path: str | os.PathLike[str], *, progress: Progress | None = None) -> tuple[Header, Iterator[Event]]:
    """The header and the events of a journal file, for tools that only read: takes no lock, changes nothing.

    A torn last line, or one that a running session is writing, is left out.
    """
    file = Path(path).absolute()
    header = read_header(file)
    if header is None:
        raise no_session(file)
    return header, scan_events(file, progress=progress)


def no_session(path: Path | None) -> JournalError:
    """The error for a journal without a session; `path` of its file, if it is one."""
    fix = "check the path, or start with Session(..., journal=journal)."
    rule = "a journal with a session; this one is missing or empty"
    return invalid("journal", path and str(path), rule, fix, error=JournalError)

"""A journal in a text file: each line is on disk before the session continues.

Appends the session's events; returns them after a crash, with a torn last line moved to another file. The text format
is described in lines.py. Usage: `Session(..., journal=JsonlJournal("votes.jsonl"))`.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from quorate.errors import JournalError
from quorate.files import failure, lock, sync, sync_directory, write_all
from quorate.session.journal import FIRST_SEQ, Event, Header, Journal, Progress, check_event
from quorate.session.lines import encode_line, header_line, read_header, refuse_damaged_newline, scan_events
from quorate.validate import invalid

log = logging.getLogger("quorate.journal")

_OPEN_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_BLOCK = 1 << 16
OWNER_ONLY = 0o600  # mode of new files, because votes are private; an existing file keeps its mode


@dataclass(frozen=True, slots=True)
class TornLine:
    """A line that a crash cut short; it was never acknowledged. `offset` and `num_bytes` are its position and size."""

    offset: int
    num_bytes: int
    saved_as: Path


class JsonlJournal:
    """A journal in the file `path`: one JSON object per line, readable by any JSON tool.

    The constructor does not open the file. The first call that finds (or, for `start`, creates) it locks it, and moves
    the bytes of a torn last line to `<name>.torn-<offset>`, which `torn` and a log message report. The lock is released
    by `close`, when the object is deleted, and when the process ends. A forked child can neither write nor hold the
    lock.

    With `fsync=False` the system decides when lines reach the disk: safe if the process crashes, not if the machine
    does. After a failed append the next one may be tried; after a failed fsync nothing more is written, because the
    content of the disk is then unknown: resume the session from the file.
    """

    def __init__(self, path: str | os.PathLike[str], *, fsync: bool = True) -> None:
        """Set the path; the file is opened on first use."""
        self.path = Path(path).absolute()
        self.torn: TornLine | None = None
        self._fsync = fsync
        self._mutex = threading.RLock()
        self._unusable: str | None = None
        self._fd = -1
        self._size = 0
        self._identity = (0, 0)
        self._header: Header | None = None
        self._next_seq = 0  # 0: not known yet

    def __repr__(self) -> str:
        return f"JsonlJournal({str(self.path)!r})"

    def header(self) -> Header | None:
        """The header; None if the file does not exist, is empty, or has an incomplete header."""
        with self._mutex:
            return dict(self._header) if self._attach() and self._header is not None else None

    def events(self, *, progress: Progress | None = None) -> Iterator[Event]:
        """The events in the file when this is called; `progress` counts bytes."""
        with self._mutex:
            if not self._attach() or self._header is None:
                return iter(())
            self._check_unchanged()
            return self._counted_events(progress)

    def start(self, header: Mapping[str, Any]) -> None:
        """Write the header; creates the file, not its folder."""
        line = header_line(header)
        with self._mutex:
            self._attach(create=True)
            if self._header is not None:
                raise self._invalid("an empty journal; this one has a session", "resume it, or choose another path.")
            self._commit(line, what="the header")
            self._header, self._next_seq = read_header(self.path), FIRST_SEQ
            self._size += len(line)

    def append(self, event: Mapping[str, Any]) -> None:
        """Write one event: durable on return, not stored if this raises."""
        with self._mutex:
            if self._unusable is not None or not self._next_seq:
                self._prepare_to_append()
            check_event(event, next_seq=self._next_seq)
            what = f"event {self._next_seq}"
            line = encode_line(event, what=what)
            self._commit(line, what=what)
            # After an interrupt (Ctrl-C) from here on, the next append is refused because of the size or the seq; no
            # event is lost or written twice. So the size is updated last.
            self._next_seq += 1
            self._size += len(line)

    def close(self) -> None:
        """Close the file and release its lock. The object cannot be used again; create another."""
        with self._mutex:
            self._mark_unusable("it was closed")
            self._detach()

    def _attach(self, *, create: bool = False) -> bool:
        """Open, lock and repair the file on first use; False if it does not exist and `create` is False."""
        self._refuse_if_unusable()
        if self._fd >= 0:
            return True
        try:
            fd = os.open(self.path, _OPEN_FLAGS | (os.O_CREAT if create else 0), OWNER_ONLY)
        except OSError as cause:
            if isinstance(cause, FileNotFoundError) and not create:
                return False
            raise failure(self.path, "a file that can be opened for writing", cause) from cause
        try:
            self._take_over(fd)
        except BaseException as cause:
            os.close(fd)
            if isinstance(cause, OSError):
                raise failure(self.path, "a file that can be written", cause) from cause
            raise
        self._fd = fd
        self._close_fd = weakref.finalize(self, os.close, fd)
        _attached.add(self)
        return True

    def _take_over(self, fd: int) -> None:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise self._invalid("a regular file", "pass the path of one.")
        lock(fd, self.path)
        self._identity = (info.st_dev, info.st_ino)
        self._header = read_header(self.path)
        self.torn = _move_torn_line(fd, self.path)
        self._size = os.fstat(fd).st_size
        self._check_unchanged()  # it may have been replaced between opening and locking

    def _counted_events(self, progress: Progress | None) -> Iterator[Event]:
        next_seq = FIRST_SEQ
        for event in scan_events(self.path, end=self._size, progress=progress):
            next_seq += 1
            yield event
        self._next_seq = self._next_seq or next_seq

    def _prepare_to_append(self) -> None:
        """Find the next seq, unless it is known because the caller has read all events, as a session does."""
        if not self._attach() or self._header is None:
            raise self._invalid("a journal that was started", "call start(header) before append(event).")
        if not self._next_seq:
            deque(self.events(), maxlen=0)

    def _commit(self, line: bytes, *, what: str) -> None:
        """Write a whole line to disk, or leave the file unchanged."""
        self._check_unchanged()
        try:
            write_all(self._fd, line)
            if self._fsync:
                self._sync(first=self._size == 0)
        except BaseException as cause:
            self._remove_failed_line()
            if isinstance(cause, OSError):
                more = " Close it and resume the session from the file." if self._unusable else ""
                raise failure(self.path, f"{what} to be written", cause, more=more) from cause
            raise

    def _sync(self, *, first: bool) -> None:
        try:
            sync(self._fd)
            if first:
                sync_directory(self.path.parent)
        except OSError as cause:
            # The system may drop the pages it failed to write and report the next fsync as a success.
            self._mark_unusable(f"an fsync failed ({cause.strerror or cause})")
            raise

    def _remove_failed_line(self) -> None:
        """Remove what was written of a failed line; if that is impossible, no further line may follow it."""
        try:
            os.ftruncate(self._fd, self._size)
        except OSError as cause:
            self._mark_unusable(f"a failed line could not be removed ({cause.strerror or cause})")

    def _check_unchanged(self) -> None:
        """Check that the path is still the same file, of the same size; fast enough for every append."""
        try:
            info = self.path.stat()
        except OSError as cause:
            self._mark_unusable(f"the file no longer exists ({cause.strerror or cause})")
        else:
            if (info.st_dev, info.st_ino) != self._identity:
                self._mark_unusable("the file was replaced by another one")
            elif info.st_size != self._size:
                self._mark_unusable(f"another program changed the file: {info.st_size} bytes instead of {self._size}")
        self._refuse_if_unusable()

    def _mark_unusable(self, reason: str) -> None:
        self._unusable = self._unusable or reason

    def _refuse_if_unusable(self) -> None:
        if self._unusable is not None:
            fix = "Nothing was written; close this one and resume the session from the file with a new JsonlJournal."
            raise self._invalid(f"a usable journal, but {self._unusable}", fix)

    def _invalid(self, rule: str, fix: str) -> JournalError:
        return invalid("journal", str(self.path), rule, fix, error=JournalError)

    def _detach(self) -> None:
        if self._fd >= 0:
            self._fd = -1
            self._close_fd()
            _attached.discard(self)


_attached: weakref.WeakSet[JsonlJournal] = weakref.WeakSet()


def _release_in_child() -> None:
    """Detach in a forked child, which shares the lock: it must neither write nor keep the lock after its parent."""
    for journal in list(_attached):
        journal._mutex = threading.RLock()  # another thread of the parent may have held it
        journal._mark_unusable("it was opened before this process was forked")
        journal._detach()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)


def _move_torn_line(fd: int, path: Path) -> TornLine | None:
    """Move the bytes after the last newline to a file next to the journal: first sync the copy, then truncate."""
    offset, tail = _after_last_newline(path)
    if not tail:
        return None
    with path.open("rb") as file:
        number = 1 + sum(1 for line in file if line.endswith(b"\n"))
    refuse_damaged_newline(path, tail, number=number, offset=offset)
    saved_as = _save_beside(path, tail, offset)
    os.ftruncate(fd, offset)
    sync(fd)
    log.warning(
        "journal %s: line %d was truncated by a crash and never acknowledged; its %d bytes are now in %s",
        path, number, len(tail), saved_as.name,
    )  # fmt: skip
    return TornLine(offset=offset, num_bytes=len(tail), saved_as=saved_as)


def _after_last_newline(path: Path) -> tuple[int, bytes]:
    """The offset and the bytes of a last line without newline; read from the end."""
    with path.open("rb") as file:
        start = file.seek(0, os.SEEK_END)
        tail = b""
        while start > 0 and b"\n" not in tail:
            step = min(_BLOCK, start)
            start = file.seek(start - step)
            tail = file.read(step) + tail
    cut = tail.rfind(b"\n") + 1
    return start + cut, tail[cut:]


def _save_beside(path: Path, tail: bytes, offset: int) -> Path:
    """Write `tail` to a new file; names are numbered, because crashes can tear the same line twice."""
    names = (f"{path.name}.torn-{offset}" + (f".{attempt}" if attempt else "") for attempt in count())
    saved_as = next(candidate for candidate in map(path.with_name, names) if not candidate.exists())
    fd = os.open(saved_as, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), OWNER_ONLY)
    try:
        write_all(fd, tail)
        sync(fd)
    except OSError:
        saved_as.unlink()
        raise
    finally:
        os.close(fd)
    sync_directory(path.parent)
    return saved_as


def as_journal(given: Journal | str | os.PathLike[str] | None) -> Journal | None:
    """A journal unchanged, the journal in the file of that path, or None."""
    if isinstance(given, (str, os.PathLike)):
        return JsonlJournal(Path(given))
    if given is None or all(callable(getattr(given, part, None)) for part in ("header", "events", "start", "append")):
        return given
    rule = "a path, a journal such as quorate.JsonlJournal(path), or None"
    raise invalid("journal", given, rule, "pass one of these.")

"""Atomic writes of files and folders, and the system calls that journals need.

`atomic_file`, `write_atomic` and `write_folder` are for all results: temporary file, fsync, rename, clean up.
`lock`, `write_all` and `sync` work on open file descriptors, for the journal.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from quorate.errors import InvalidInput, JournalError, JournalLocked

Content = str | bytes | Callable[[Path], object]  # of a file: text in UTF-8, bytes, or a function that writes it
UNFINISHED = ".half-"  # prefix of temporary files; those left behind by a killed process may be deleted

if sys.platform == "win32":
    import msvcrt

    _LOCK_BYTE = 0x7FFF0000  # Windows hides locked bytes from other readers: lock one far beyond the text

    def _take_lock(fd: int) -> bool:
        os.lseek(fd, _LOCK_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _take_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def lock(fd: int, path: Path) -> None:
    """Become the only writer of this file until `fd` is closed or the process ends."""
    if not _take_lock(fd):
        rule = f"a journal that no other session writes; {_lock_holder(fd)} has it open"
        fix = "close the other session (leave its `with` block, or end its process), "
        fix += "or read the journal without writing: read_journal(path)."
        raise JournalLocked(field="journal", value=str(path), rule=rule, fix=fix)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process is inside `alone` with this file, then run the block."""
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        while not _take_lock(fd):
            time.sleep(0.1)
        yield
    finally:
        os.close(fd)


def _lock_holder(fd: int) -> str:
    """The process that holds the lock, if known (Linux only)."""
    info = os.fstat(fd)
    try:
        table = Path("/proc/locks").read_text(encoding="ascii")
        wanted = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}:{info.st_ino}"
    except (OSError, AttributeError):
        return "another session"
    for words in map(str.split, table.splitlines()):
        if words[1:2] == ["FLOCK"] and wanted in words:
            holder = words[words.index(wanted) - 1]
            return "another session in this process" if holder == str(os.getpid()) else f"process {holder}"
    return "another session"


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes, in several calls if the system writes fewer at a time."""
    done = os.write(fd, data)
    while done < len(data):
        count = os.write(fd, data[done:])
        if count == 0:
            raise OSError(errno.EIO, "the system accepts no more bytes")
        done += count


def sync(fd: int) -> None:
    """Return when the bytes are on disk, not only in the cache of the system or (macOS) of the drive."""
    if sys.platform == "darwin":
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        os.fsync(fd)


def sync_directory(folder: Path) -> None:
    """Force a new name in `folder` to disk. Windows has no such call."""
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot sync folders
            raise
    finally:
        os.close(fd)


@contextmanager
def atomic_file(path: Path, *, private: bool = False, durable: bool = True) -> Iterator[Path]:
    """A temporary file to write to; renamed to `path` when the block ends, deleted if the block fails.

    Readers see the old content or the new one, never part of it. Missing folders are created. `private`: readable by
    its owner only. `durable=False` does not wait for the disk: for results that can be computed again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{UNFINISHED}{uuid4().hex}{path.suffix[:20]}")
    try:
        if private:
            unfinished.touch(mode=0o600)
        yield unfinished
        if durable:
            _sync_file(unfinished)
        unfinished.replace(path)
        if durable:
            sync_directory(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def write_atomic(path: Path, content: str | bytes, *, durable: bool = True) -> Path:
    """Write a whole file atomically; text as UTF-8 with unchanged line ends."""
    with atomic_file(path, durable=durable) as unfinished:
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def check_free(out: str | Path, *, overwrite: bool) -> Path:
    """The folder to write to; it must be new or empty unless `overwrite`. A missing parent is created."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(field="out", value=str(out), rule="a folder, not a file", fix="name another folder.")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        fix = "name another folder, or pass `overwrite=True`."
        raise InvalidInput(field="out", value=str(out), rule="an empty folder; this one contains files", fix=fix)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(folder.parent, os.W_OK):  # report it before the run, not after
        rule = f"a writable folder; {str(folder.parent)!r} is not writable"
        raise InvalidInput(field="out", value=str(out), rule=rule, fix="name another folder.")
    return folder


def write_folder(folder: Path, files: Mapping[str, Content]) -> tuple[Path, ...]:
    """Write several files that belong together; the last one marks the folder as complete.

    Each value is the content of a file, or a function that gets the path to write to. An old marker is removed before
    the first file is replaced and the new one is written last, so a folder with a marker is complete. Other files in
    the folder stay.
    """
    *_, marker = files
    place = folder.absolute()  # "." has no name
    beside = place.with_name(f"{UNFINISHED}{place.name}")
    shutil.rmtree(beside, ignore_errors=True)  # left behind by a killed process
    beside.mkdir(parents=True)
    try:
        for name, content in files.items():
            if callable(content):
                content(beside / name)
            else:
                (beside / name).write_bytes(content.encode() if isinstance(content, str) else content)
            _sync_file(beside / name)
        folder.mkdir(exist_ok=True)
        (folder / marker).unlink(missing_ok=True)
        for name in files:
            (beside / name).replace(folder / name)
        sync_directory(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return tuple(folder / name for name in files)


def _sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDWR)
    try:
        sync(fd)
    finally:
        os.close(fd)


_FIXES = {
    errno.ENOENT: "Create its folder first, or check the path.",
    errno.ENOTDIR: "Part of the path is a file; check the path.",
    errno.EISDIR: "It is a folder; pass the path of a file.",
    errno.EACCES: "Change its permissions, or choose another path.",
    errno.EPERM: "Change its permissions, or choose another path.",
    errno.EROFS: "It is on a read-only disk; choose another path.",
    errno.ENOSPC: "Free some space, then try again.",
    errno.EDQUOT: "Free some space, then try again.",
    errno.EFBIG: "The largest allowed file size is reached (see ulimit -f); raise it, then try again.",
    errno.EIO: "The disk reports an error; check it before trying again.",
}


def failure(path: Path, expected: str, cause: OSError, *, more: str = "") -> JournalError:
    """The error of a journal: what was `expected`, why the system refused it, and the fix."""
    rule = f"{expected} ({cause.strerror or cause})"
    fix = _FIXES.get(cause.errno or 0, "") + more
    return JournalError(field="journal", value=str(path), rule=rule, fix=fix.strip())

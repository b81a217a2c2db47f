"""The few operating-system calls a durable file needs: lock, write everything, force to disk, explain what failed.

Called by jsonl.py with open file descriptors; knows nothing of events.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from quorate.errors import JournalError, JournalLocked

if sys.platform == "win32":
    import msvcrt

    _LOCK_BYTE = 0x7FFF0000  # Windows locks bytes, and hides them from other readers: take one far from the text

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
    """Be the only writer of this file until `fd` is closed or the process ends, however it ends."""
    if not _take_lock(fd):
        raise JournalLocked(
            f"journal {path} is being written by {_lock_holder(fd)}. One session at a time may write it: "
            "close the other one, or look without writing: read_journal(path)."
        )


def _lock_holder(fd: int) -> str:
    """The process that holds the lock, as far as Linux tells; other systems do not."""
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
    """Write every byte, however few the system takes at a time."""
    done = os.write(fd, data)
    while done < len(data):
        taken = os.write(fd, data[done:])
        if taken == 0:
            raise OSError(errno.EIO, "the system takes no more bytes")
        done += taken


def sync(fd: int) -> None:
    """Return when the bytes are on the disk, not only in the memory of the system or (macOS) of the drive."""
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
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot; files still can
            raise
    finally:
        os.close(fd)


_FIXES = {
    errno.ENOENT: "Create its folder first, or check the path.",
    errno.ENOTDIR: "Part of the path is a file; check the path.",
    errno.EISDIR: "It is a folder; pass the path of a file.",
    errno.EACCES: "Change its permissions, or choose another path.",
    errno.EPERM: "Change its permissions, or choose another path.",
    errno.EROFS: "It lies on a read-only disk; choose another path.",
    errno.ENOSPC: "Free some space, then try again.",
    errno.EDQUOT: "Free some space, then try again.",
    errno.EFBIG: "The largest allowed file size is reached (see ulimit -f); raise it, then try again.",
    errno.EIO: "The disk reports a fault; check it before trying again.",
}


def failure(what: str, cause: OSError, *, more: str = "") -> JournalError:
    """`what` went wrong, why the system says so, and what to do."""
    reason = cause.strerror or str(cause)
    return JournalError(f"{what}: {reason}. {_FIXES.get(cause.errno or 0, '')}".rstrip() + more)

"""The name of a data set -> its published files in the cache, verified. Called by `quorate data fetch`.

A file is downloaded to `NAME.part` by one writer at a time, resumed if needed, and removed if it is not the published
one.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal
from urllib.parse import urlsplit
from uuid import uuid4

from quorate.datasets.catalogue import PublishedFile, Source, digests, matches, source
from quorate.datasets.content import cache_folder, extra, find
from quorate.errors import DownloadError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows cannot lock folders: there each writer has its own part, and none is resumed
    flock = None  # type: ignore[assignment]


@contextmanager
def part_file(final: Path) -> Iterator[Path]:
    """The path to write before it becomes `final`; no other writer uses it while the block runs.

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
    """Whether this writer got the folder's lock; it is released with the block or the end of the process."""
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
    except OSError:  # another writer has it, or the file system has no locks
        return False
    return True


Report = Callable[[int, int, str], None]  # bytes done, bytes in all, what
MOST_BYTES = 2**29  # of a file whose size is unknown
ATTEMPTS = 5  # each continues where the previous one stopped
CHUNK = 4096  # bytes; an incomplete chunk is lost when a transfer breaks
TIMEOUT = (10.0, 60.0)  # seconds to connect, and without data


@dataclass(frozen=True, slots=True)
class ResumingDownloader:
    """Called by pooch as `downloader(url, output_file, pooch)`; leaves a verified file, or raises `DownloadError`."""

    file: PublishedFile
    part: Path
    report: Report | None = None

    def __call__(self, url: str, output_file: str, _pooch: object = None, check_only: bool = False) -> None:
        """Download and verify; only then is the file renamed."""
        resumed = self.part.exists()
        self._transfer(url)
        if resumed and not matches(digests(self.part), self.file):
            self.part.unlink()  # the old part may be of another version: start again
            self._transfer(url)
        prove(self.part, self.file, origin=url)
        self.part.replace(output_file)

    def _transfer(self, url: str) -> None:
        """Complete `part`, in several attempts if needed."""
        requests = extra("requests")
        trouble: Exception | None = None
        for _ in range(ATTEMPTS):
            have = self._size()
            try:
                if self._stream(requests, url, have):
                    return
            except requests.RequestException as problem:
                trouble = problem
                if self._size() <= have:  # no progress: another attempt would not help
                    break
        raise DownloadError(self._broken(url, trouble))

    def _stream(self, requests: ModuleType, url: str, have: int) -> bool:
        """One request from byte `have` on; True if the file seems complete."""
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            if answer.status_code == 416 and have:  # nothing after `have`: complete, or not this file
                return True
            resumes = answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            if answer.status_code != 200 and not resumes:
                raise DownloadError(f"{url} answers {answer.status_code} {answer.reason}; it may have moved.")
            start = have if resumes else 0
            total = self._total(url, start, answer.headers.get("Content-Length"))
            with self.part.open("ab" if resumes else "wb") as out:
                for chunk in answer.iter_content(CHUNK):
                    out.write(chunk)
                    start += len(chunk)
                    self._check_growth(url, start, total)
        return self.file.size is None or start >= self.file.size

    def _total(self, url: str, start: int, length: str | None) -> int:
        """Bytes of the whole file; refuses a size that differs from the published one."""
        total = start + int(length) if length and length.isdigit() else (self.file.size or 0)
        if self.file.size is not None and total > self.file.size:
            self.part.unlink(missing_ok=True)
            raise DownloadError(
                f"{url} offers {total} bytes; the published {self.file.name} has {self.file.size}. It is not that "
                "file: try another mirror."
            )
        return total

    def _check_growth(self, url: str, done: int, total: int) -> None:
        if self.report is not None:
            self.report(done, max(total, done), self.file.name)
        if done > (self.file.size or MOST_BYTES):
            self.part.unlink(missing_ok=True)
            raise DownloadError(f"{url} sends more than {self.file.size or MOST_BYTES} bytes; try another mirror.")

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _broken(self, url: str, trouble: Exception | None) -> str:
        if have := self._size():
            wanted = f" of {self.file.size}" if self.file.size else ""
            return f"the transfer of {url} broke off after {have}{wanted} bytes; run the same command again to resume."
        return f"cannot reach {urlsplit(url).netloc or url} ({type(trouble).__name__})."


def prove(path: Path, file: PublishedFile, *, origin: str) -> None:
    """Check a copy; remove and refuse it if it is not the published file."""
    found = digests(path)
    if not matches(found, file):
        path.unlink()
        known = f"sha256 {file.sha256}" if file.sha256 else f"git blob {file.git_blob}"
        got = found.sha256 if file.sha256 else found.git_blob
        raise DownloadError(
            f"{origin} is not the published {file.name}: expected {known}, got {got} ({found.size} bytes). The copy "
            "was removed; try again, or another mirror."
        )


@dataclass(frozen=True, slots=True)
class Fetched:
    """One file in the cache, and how it was obtained."""

    name: str
    path: Path
    how: Literal["present", "downloaded", "copied"]
    num_bytes: int


def fetch(
    name: str,
    *,
    cache: str | Path | None = None,
    mirror: str | None = None,
    folder: str | Path | None = None,
    report: Report | None = None,
) -> tuple[Fetched, ...]:
    """Download the files that `load` needs into `cache/NAME`; each is verified before it gets its name.

    `mirror`: a base URL that has the files under their names. `folder`: copy them from there instead. Verified files
    are not downloaded again; a broken transfer is resumed. A file that is not the published one is kept until a
    verified one replaces it. Show the licence first: `describe`.
    """
    entry = source(name)
    if not entry.to_fetch:
        raise DownloadError(f"{name} cannot be downloaded automatically. {by_hand(entry)}")
    target = (Path(cache) if cache is not None else cache_folder()) / name
    target.mkdir(parents=True, exist_ok=True)
    fetched = []
    for file in entry.to_fetch:
        try:
            fetched.append(_fetch_one(entry, file, target, mirror, folder, report))
        except DownloadError as problem:
            raise DownloadError(f"{problem} {by_hand(entry)}") from problem
    return tuple(fetched)


def describe(name: str) -> tuple[str, ...]:
    """What to know before a download: title, licence, citation, files.

    >>> describe("chaosnli")[1]
    'Licence: CC BY-NC 4.0'
    """
    entry = source(name)
    return (entry.title, f"Licence: {entry.licence}", f"Cite: {entry.citation}", *map(_listed, entry.to_fetch))


def by_hand(entry: Source) -> str:
    """The manual steps, in one line."""
    if not entry.to_fetch:
        return " ".join(entry.manual)
    urls = " and ".join(str(file.url) for file in entry.to_fetch)
    return f"By hand: download {urls} into a folder and run `quorate data fetch {entry.name} --from FOLDER`."


def _listed(file: PublishedFile) -> str:
    size = f"{file.size / 1e6:.1f} MB" if file.size else "size unknown"
    return f"File: {file.name}, {file.what}, {size}, verified by {'sha256' if file.sha256 else 'git blob id'}"


def _fetch_one(
    entry: Source,
    file: PublishedFile,
    target: Path,
    mirror: str | None,
    folder: str | Path | None,
    report: Report | None,
) -> Fetched:
    final = target / file.name
    if final.is_file():
        found = digests(final)
        if matches(found, file):
            return Fetched(file.name, final, "present", found.size)
    with part_file(final) as part:  # a file at `final` is kept until the new one is verified
        if folder is not None:
            _copy(entry, file, Path(folder), part)
        else:
            url = f"{mirror.rstrip('/')}/{file.name}" if mirror is not None else str(file.url)
            _download(file, url, part, report)
        part.replace(final)
    return Fetched(file.name, final, "copied" if folder is not None else "downloaded", final.stat().st_size)


def _copy(entry: Source, file: PublishedFile, folder: Path, part: Path) -> None:
    local = find(folder, [file.name], dataset=entry.name)
    if local is None:
        raise DownloadError(f"--from {str(folder)!r} has no {file.name}.")
    shutil.copyfile(local, part)
    prove(part, file, origin=str(local))


def _download(file: PublishedFile, url: str, part: Path, report: Report | None) -> None:
    """Download by pooch under another name, because pooch trusts a file that already has the final name."""
    pooch = extra("pooch")
    proven = part.with_name(f".{file.name}.{uuid4().hex}")
    try:
        with _quiet(pooch.get_logger()):
            pooch.retrieve(
                url,
                known_hash=f"sha256:{file.sha256}" if file.sha256 else None,  # the downloader checks a git blob id
                fname=proven.name,
                path=proven.parent,
                downloader=ResumingDownloader(file, part, report),
            )
        proven.replace(part)
    finally:
        proven.unlink(missing_ok=True)


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Silence pooch's log on stderr; the command line has its own progress."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)

"""The name of a data set -> its published files in the cache, verified. Called by `quorate data fetch`."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import uuid4

from quorate.datasets.catalogue import PublishedFile, Source, digests, matches, source
from quorate.datasets.download import Report, ResumingDownloader, part_file, prove
from quorate.datasets.places import cache_folder, extra, find
from quorate.errors import DownloadError


@dataclass(frozen=True, slots=True)
class Fetched:
    """One file in the cache, and how it came there."""

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
    """Download what `load` needs of a data set into `cache/NAME`, each file verified before it takes its name.

    `mirror`: a base URL that has the files under their names. `folder`: copy them from there instead. Files that are
    there and verified are left alone; a broken transfer goes on where it stopped. A file that is not the published one
    keeps its place until a proven one takes it. Show the licence first: `describe`.
    """
    entry = source(name)
    if not entry.to_fetch:
        raise DownloadError(f"{name} cannot be fetched by a program. {by_hand(entry)}")
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
    size = f"{file.size / 1e6:.1f} MB" if file.size else "size not known"
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
    with part_file(final) as part:  # what is at `final` stays until its successor is proven
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
    """Through pooch into a name of our own, since pooch takes a file that has the final one for the right one."""
    pooch = extra("pooch")
    proven = part.with_name(f".{file.name}.{uuid4().hex}")
    try:
        with _quiet(pooch.get_logger()):
            pooch.retrieve(
                url,
                known_hash=f"sha256:{file.sha256}" if file.sha256 else None,  # a git blob id: the downloader proves it
                fname=proven.name,
                path=proven.parent,
                downloader=ResumingDownloader(file, part, report),
            )
        proven.replace(part)
    finally:
        proven.unlink(missing_ok=True)


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Pooch says what it does on stderr; the command line has its own progress."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)

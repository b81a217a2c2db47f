"""The name of a data set -> its published files in a folder, verified. Called by `quorate reproduce fetch`."""

from __future__ import annotations

from pathlib import Path

from quorate.errors import DownloadError
from quorate_paper.datasets.catalogue import PublishedFile, Source, git_blob, source
from quorate_paper.datasets.places import data_folder, extra


def fetch(name: str, *, folder: str | Path | None = None, progress: bool = False) -> tuple[Path, ...]:
    """Download the files that `load` needs to `folder`/NAME; files that are there and unchanged are kept.

    None: the folder in `QUORATE_DATA`, else the user's cache. Show the licence first: `describe`.
    """
    entry = source(name)
    if not entry.files:
        raise DownloadError(f"{name} cannot be downloaded automatically. {' '.join(entry.manual)}")
    target = data_folder(folder) / name
    return tuple(_fetched(file, target, progress) for file in entry.files)


def describe(name: str) -> tuple[str, ...]:
    """What to know before a download: title, licence, citation, files.

    >>> describe("chaosnli")[1]
    'Licence: CC BY-NC 4.0'
    """
    entry: Source = source(name)
    files = (f"File: {file.name}" for file in entry.files)
    return (entry.title, f"Licence: {entry.licence}", f"Cite: {entry.citation}", *files)


def _reason(cause: Exception) -> str:
    answered = getattr(getattr(cause, "response", None), "status_code", None)
    if answered is not None:
        return f"the server answered {answered}"
    return "its checksum is another one" if isinstance(cause, ValueError) else "there is no connection to the server"


def _fetched(file: PublishedFile, target: Path, progress: bool) -> Path:
    pooch = extra("pooch")
    pooch.get_logger().setLevel("WARNING")
    known_hash = file.sha256 and f"sha256:{file.sha256}"
    downloader = pooch.HTTPDownloader(progressbar=progress)
    try:
        path = Path(pooch.retrieve(file.url, known_hash, fname=file.name, path=target, downloader=downloader))
    except (OSError, ValueError) as cause:  # no network, an error of the server, another checksum
        raise DownloadError(
            f"{file.name} could not be fetched: {_reason(cause)}. Run the command again, or download "
            f"{file.url} by hand into {target}."
        ) from cause
    if file.git_blob and git_blob(path) != file.git_blob:
        path.unlink()
        raise DownloadError(f"{file.url} is not the published {file.name}: its checksum differs. It was removed.")
    return path

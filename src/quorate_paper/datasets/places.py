"""Where the published files are: the folders that are searched, and the notes that say what was read."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from quorate.errors import InvalidInput, MissingExtra
from quorate.validate import invalid

# The folder itself; our layout; then the layouts of the authors' and of ChaosNLI's repositories.
AUTHORS = ("cifar-10H", "cifar-10", "imagenet-16H-distshift", "imagenet-16H")
CHAOS = ("chaosNLI_v1.0", "model_predictions")
SUBFOLDERS = ("", "raw", "data", *AUTHORS, *CHAOS, *(f"data/{name}" for name in (*AUTHORS, *CHAOS)))
PICKLES = (".pkl", ".pickle")
PAPERS_OWN = "the paper's own predictions"  # in a note of every data set that holds them


def extra(module: str) -> ModuleType:
    """A package of the extra `data`, imported when first needed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(
            f"this needs {module}, which is not installed: pip install 'quorate[data]'. "
            "Without it, pass your own files: load(path), or set QUORATE_DATA to their folder."
        ) from None


def find(folder: Path, names: Sequence[str], *, dataset: str = "") -> Path | None:
    """The first of `names` in `folder` or one of the known folders in it."""
    for name in names:
        for subfolder in (*SUBFOLDERS, dataset):
            if (folder / subfolder / name).is_file():
                return folder / subfolder / name
    return None


def locate(path: str | Path | None, names: Sequence[str], *, dataset: str) -> Path:
    """The file to load: `path` itself or, if it is a folder, one of `names` in it (best first).

    None means the folder in `QUORATE_DATA`, else the cache.
    """
    where = data_folder(path)
    if where.is_file():
        return where
    file = find(where, names, dataset=dataset)
    if file is None:
        rule = f"a file, or a folder with one of {', '.join(names)}"
        fix = f"run `quorate reproduce fetch {dataset}`, pass a copy as `path`, or set QUORATE_DATA to its folder."
        raise invalid("path", str(where), rule, fix)
    return file


def papers_own(path: str | Path | None, names: Sequence[str], *, dataset: str) -> tuple[Path, ...] | None:
    """The authors' own files `names` in the folder `path` (as for `locate`); None unless it has all of them."""
    where = data_folder(path)
    files = tuple(find(where, [name], dataset=dataset) for name in names) if where.is_dir() else ()
    there = tuple(file for file in files if file is not None)
    return there if there and len(there) == len(names) else None


def data_folder(path: str | Path | None) -> Path:
    """The given path, else the folder in `QUORATE_DATA`, else the user's cache; `reproduce fetch` saves there."""
    chosen = path if path is not None else os.environ.get("QUORATE_DATA")
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen or Path(caches) / "quorate")


def beside(file: Path, names: Sequence[str]) -> Path | None:
    """The first of `names` near a file: in its folder, or in the known folders one or two levels up."""
    folders = (file.parent, file.parent.parent, file.parent.parent.parent)
    return next(filter(None, (find(folder, names) for folder in folders)), None)


def unknown_form(file: Path, dataset: str, forms: str) -> InvalidInput:
    """The error for a file that no loader of the data set can read."""
    return invalid("path", str(file), f"a known form of {dataset}: {forms}", "see docs/data.md.")


def read_from(*files: Path, own: bool = False) -> str:
    """The note that says which files a data set was read from; `own`: its predictions are those the paper used.

    >>> read_from(Path("data/imagenet_16h.pkl"), own=True)
    "read from imagenet_16h.pkl: the paper's own predictions"
    """
    return f"read from {' and '.join(file.name for file in files)}{f': {PAPERS_OWN}' if own else ''}"

"""Where files of data sets lie: a file, a folder in any known layout, `QUORATE_DATA`, or the cache of `data fetch`.

Called by the loaders, by `fetch` and by `inspection`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from quorate.errors import InvalidInput, MissingExtra
from quorate.validate import broken

# The folder itself; ours; then the layouts of the authors' and of ChaosNLI's repositories.
AUTHORS = ("cifar-10H", "cifar-10", "imagenet-16H-distshift", "imagenet-16H")
CHAOS = ("chaosNLI_v1.0", "model_predictions")
SUBFOLDERS = ("", "raw", "data", *AUTHORS, *CHAOS, *(f"data/{name}" for name in (*AUTHORS, *CHAOS)))
PICKLES = (".pkl", ".pickle")


def cache_folder() -> Path:
    """Where `quorate data fetch` keeps files: `QUORATE_CACHE` if set, else the user's cache folder as pooch has it."""
    given = os.environ.get("QUORATE_CACHE")
    return Path(given) if given else Path(extra("pooch").os_cache("quorate"))


def extra(module: str) -> ModuleType:
    """A package of the extra `data`, imported when first needed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(
            f"this needs {module}, which is not installed: pip install 'quorate[data]'. "
            "Without it, name your own files: load(path), or set QUORATE_DATA to their folder."
        ) from None


def find(folder: Path, names: Sequence[str], *, dataset: str = "") -> Path | None:
    """The first of `names` in `folder` or one of the known folders in it."""
    for name in names:
        for place in (*SUBFOLDERS, dataset):
            if (folder / place / name).is_file():
                return folder / place / name
    return None


def locate(path: str | Path | None, names: Sequence[str], *, dataset: str) -> Path:
    """The file to load: `path` itself, or one of `names` (best first) in the folder it is.

    None means the folder in `QUORATE_DATA`, else the cache.
    """
    where = _given(path)
    if where.is_file():
        return where
    found = find(where, names, dataset=dataset)
    if found is None:
        rule = f"a file, or a folder with one of {', '.join(names)}"
        fix = f"run `quorate data fetch {dataset}`, pass your own copy as `path`, or set QUORATE_DATA to its folder."
        raise broken("path", str(where), rule, fix)
    return found


def papers_own(path: str | Path | None, names: Sequence[str], *, dataset: str) -> tuple[Path, ...] | None:
    """The authors' own files `names` in the folder `path` is, as for `locate`; None unless all of them are there."""
    where = _given(path)
    found = tuple(find(where, [name], dataset=dataset) for name in names) if where.is_dir() else ()
    there = tuple(file for file in found if file is not None)
    return there if there and len(there) == len(names) else None


def _given(path: str | Path | None) -> Path:
    return Path(path) if path is not None else Path(os.environ.get("QUORATE_DATA") or cache_folder())


def beside(file: Path, names: Sequence[str]) -> Path | None:
    """The first of `names` near a file: in its folder, or in the known folders one or two levels up."""
    folders = (file.parent, file.parent.parent, file.parent.parent.parent)
    return next((found for folder in folders if (found := find(folder, names))), None)


def unknown_form(file: Path, dataset: str, forms: str) -> InvalidInput:
    """The error for a file that no loader of the data set reads."""
    return broken("path", str(file), f"a known form of {dataset}: {forms}", "see docs/data.md.")

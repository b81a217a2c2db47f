"""A file or folder -> which published files it holds, whether they are unchanged, and the data sets that load from it.

Called by `quorate data check`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quorate.datasets import chaosnli, cifar10h, imagenet16h, imagenet16h_shift
from quorate.datasets.arrays import load_npz
from quorate.datasets.catalogue import CATALOGUE, digests, matches
from quorate.datasets.content import PICKLES, accuracies, checksum, find
from quorate.datasets.plain_pickle import read_pickle
from quorate.datasets.prediction_files import Paths
from quorate.errors import QuorateError
from quorate.packed_files import plain_arrays
from quorate.types import VoteDataset
from quorate.validate import broken

Loader = Callable[..., VoteDataset]
LOADERS: dict[str, tuple[Loader, tuple[str, ...]]] = {
    module.NAME: (module.load, module.FILES) for module in (cifar10h, imagenet16h, imagenet16h_shift, chaosnli)
}


@dataclass(frozen=True, slots=True)
class FileFacts:
    """`published`: the file with the same name or content; `intact`: whether it is that file (None: cannot compare)."""

    path: str
    size: int
    sha256: str
    git_blob: str
    published: str | None
    what: str | None
    intact: bool | None
    content: str


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """A loaded data set. `accuracy`: by model, against the plurality of the votes, one number per block."""

    name: str
    num_items: int
    classes: tuple[str, ...]
    votes_per_item: tuple[int, int]
    accuracy: dict[str, list[float]]
    checksum: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """The result of `inspect`; `problems` are sentences, empty if everything is fine."""

    path: str
    files: tuple[FileFacts, ...]
    datasets: tuple[DatasetFacts, ...]
    problems: tuple[str, ...]


def inspect(path: str | Path, *, predictions: Paths | None = None) -> Inspection:
    """Identify a file or folder. `predictions`: file(s) for votes without predictions.

    >>> inspect("nowhere")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    quorate.errors.InvalidInput: path='nowhere' does not exist; ...
    """
    where = Path(path)
    if not where.exists():
        raise broken("path", str(path), "a file or folder that exists", "pass one with files of a data set.")
    found = [where] if where.is_file() else _known_files(where)
    files, problems = [], []
    for file in found:
        facts, problem = _file_facts(file)
        files.append(facts)
        problems += problem
    datasets = []
    for name, load in _loads(where):
        try:
            datasets.append(_dataset_facts(load() if predictions is None else load(predictions=predictions)))
        except QuorateError as problem:
            problems.append(f"{name}: {problem}")
    if not files:
        problems.append(f"{str(where)!r} has no file of a known name; see docs/data.md for names and layouts.")
    return Inspection(str(where), tuple(files), tuple(datasets), tuple(dict.fromkeys(problems)))


def _known_files(folder: Path) -> list[Path]:
    names = [file.name for entry in CATALOGUE.values() for file in entry.files]
    names += [name for _, files in LOADERS.values() for name in files] + list(chaosnli.PREDICTIONS)
    places = (find(folder, [name], dataset=data) for name in dict.fromkeys(names) for data in ("", *CATALOGUE))
    return list(dict.fromkeys(place for place in places if place is not None))


def _file_facts(path: Path) -> tuple[FileFacts, list[str]]:
    proof = digests(path)
    known = [file for entry in CATALOGUE.values() for file in entry.files]
    same = next((file for file in known if matches(proof, file)), None)
    named = next((file for file in known if file.name == path.name), None)
    problems = []
    if same is None and named is not None and named.url is not None:
        problems.append(
            f"{path.name} is not the file published under this name (sha256 {proof.sha256[:12]}..., "
            f"git blob {proof.git_blob[:12]}...); fetch it again."
        )
    try:
        content = _content(path)
    except QuorateError as problem:
        content = "not read"
        problems.append(str(problem))
    intact = True if same else False if problems and named is not None else None
    name, what = (None, None) if (file := same or named) is None else (file.name, file.what)
    return FileFacts(str(path), proof.size, proof.sha256, proof.git_blob, name, what, intact, content), problems


def _content(path: Path) -> str:
    """The arrays of a file, by name and shape."""
    if path.suffix in PICKLES:
        return _shapes(read_pickle(path))
    if path.suffix in (".npy", ".npz"):
        return _shapes(plain_arrays(path))
    return path.suffix.removeprefix(".") or "unknown"


def _shapes(content: object) -> str:
    if isinstance(content, dict):
        return ", ".join(f"{name} {_shapes(value)}" for name, value in list(content.items())[:30])
    if isinstance(content, (np.ndarray, np.generic)):
        return f"{content.dtype}{list(content.shape)}"
    return type(content).__name__


def _loads(where: Path) -> list[tuple[str, Callable[..., VoteDataset]]]:
    """The loaders that may read it, each bound to its path."""
    if where.is_dir():
        folders = [(name, load, find(where, files, dataset=name)) for name, (load, files) in LOADERS.items()]
        return [(name, _bound(load, where)) for name, load, file in folders if file is not None]
    for name, (load, files) in LOADERS.items():
        if where.name in files:
            return [(name, _bound(load, where))]
    return [(where.stem, lambda: load_npz(where))] if where.suffix == ".npz" else []


def _bound(load: Loader, file: Path) -> Callable[..., VoteDataset]:
    return lambda **more: load(file, **more)


def _dataset_facts(dataset: VoteDataset) -> DatasetFacts:
    cast = (dataset.votes >= 0).sum(axis=1)
    blocks = [int(block) for block in np.unique(dataset.blocks)]
    table = np.stack([accuracies(dataset, block=block) for block in blocks], axis=1)  # (M, blocks)
    return DatasetFacts(
        name=dataset.name,
        num_items=dataset.num_items,
        classes=dataset.classes,
        votes_per_item=(int(cast.min()), int(cast.max())),
        accuracy={model: [float(x) for x in row] for model, row in zip(dataset.models, table, strict=True)},
        checksum=checksum(dataset),
        notes=dataset.notes,
    )

"""The published data sets: files, checksums, licences, citations, and steps for what cannot be downloaded.

`inspect` recognises files: which published ones a file or folder holds, whether they are unchanged, and the data sets
that load from it. Used by `fetch`, and by `quorate data list` and `check`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quorate.datasets import chaosnli, cifar10h, imagenet16h, imagenet16h_shift
from quorate.datasets.arrays import load_npz
from quorate.datasets.content import PICKLES, accuracies, checksum, find
from quorate.datasets.plain_pickle import read_pickle
from quorate.datasets.prediction_files import Paths
from quorate.errors import QuorateError
from quorate.packed_files import plain_arrays
from quorate.types import VoteDataset
from quorate.validate import invalid

AUTHORS = (
    "https://raw.githubusercontent.com/SamShowalter/bayesian_online_consensus_prediction/"
    "3c9670817267f3780e1a082707468f66d52adec7/data/"
)
CIFAR10H = "https://raw.githubusercontent.com/jcpeterson/cifar-10h/597cbc5f07266c9405b830ee4a53463539124c4f/data/"
PAPER = "Showalter et al., Bayesian Online Learning for Consensus Prediction, AISTATS 2024 (arXiv:2312.07679)"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file and its checksum: sha256, or the git blob id if only that is known. No `url`: it cannot be downloaded."""

    name: str
    what: str
    url: str | None = None
    sha256: str | None = None
    git_blob: str | None = None
    size: int | None = None
    needed: bool = True  # by `load`; other files are only recognised


@dataclass(frozen=True, slots=True)
class Source:
    """A data set: its files, licence, citation, and manual steps for what cannot be downloaded automatically."""

    name: str
    title: str
    licence: str
    citation: str
    files: tuple[PublishedFile, ...]
    manual: tuple[str, ...] = ()

    @property
    def to_fetch(self) -> tuple[PublishedFile, ...]:
        """The files that `quorate data fetch` downloads."""
        return tuple(file for file in self.files if file.url is not None and file.needed)


@dataclass(frozen=True, slots=True)
class Digests:
    """Checksums that identify a file's content."""

    size: int
    sha256: str
    git_blob: str


def digests(path: Path) -> Digests:
    """sha256 and git blob id (sha1 of `blob <size>\\0` and the content) of a file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "hello"
    >>> _ = file.write_bytes(b"hello\\n")
    >>> digests(file).git_blob
    'ce013625030ba8dba906f756967f9e9ca394464a'
    """
    size = path.stat().st_size
    sha256, blob = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with path.open("rb") as content:
        while chunk := content.read(2**20):
            sha256.update(chunk)
            blob.update(chunk)
    return Digests(size, sha256.hexdigest(), blob.hexdigest())


def matches(found: Digests, file: PublishedFile) -> bool:
    """Whether it is the published file, by every checksum that is known."""
    proofs = ((file.sha256, found.sha256), (file.git_blob, found.git_blob), (file.size, found.size))
    return all(known is None or known == ours for known, ours in proofs)


def source(name: str) -> Source:
    """The entry of a data set.

    >>> source("cifar10h").licence.split(";")[0]
    'votes CC BY-NC-SA 4.0'
    """
    if name not in CATALOGUE:
        raise invalid("name", name, "a known data set", f"choose one of {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


CATALOGUE: dict[str, Source] = {
    entry.name: entry
    for entry in (
        Source(
            name="cifar10h",
            title="CIFAR-10H: 10,000 images, 10 classes, 50 votes each",
            licence="votes CC BY-NC-SA 4.0; the paper's files (votes as arrays, predictions) MIT",
            citation="Peterson et al., Human uncertainty makes classification more robust, ICCV 2019; " + PAPER,
            files=(
                PublishedFile(
                    "cifar10h_annotator_preds.pkl", "votes (10000, 50)",
                    AUTHORS + "cifar-10H/cifar10h_annotator_preds.pkl",
                    "cd6d9280e76300ad2805ab45d64333a46e5390121e78443c489f5d806f2cd528",
                    "bf4651e933ef47559a3841ef12e99da3cef7b337", 4000162,
                ),
                PublishedFile(
                    "cifar10-fixmatch-rs1-s40.pkl", "the paper's classifiers' predictions",
                    AUTHORS + "cifar-10/cifar10-fixmatch-rs1-s40.pkl",
                    git_blob="d5796ad30794ed028d33b4118211d39c97815401",
                ),
                PublishedFile(
                    "cifar10h-counts.npy", "counts (10000, 10) of all voters, 47 to 63 an item",
                    CIFAR10H + "cifar10h-counts.npy",
                    "9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff",
                    "497e9331ae297b49669d073d657fb1d54688e319", 800128, needed=False,
                ),
                PublishedFile(
                    "cifar10h_annotator_ids.pkl", "who voted (10000, 50)",
                    AUTHORS + "cifar-10H/cifar10h_annotator_ids.pkl",
                    "921832c6e0ea145762ec12dfd4a1d957c9eed2c2caf97e67393db45869ce497c",
                    "c3b9a7f2b9804c5a8720926d1cc55dfafad4ece2", 4000162, needed=False,
                ),
                PublishedFile(
                    "cifar10h_true_targets.pkl", "CIFAR-10's labels (10000,)",
                    AUTHORS + "cifar-10H/cifar10h_true_targets.pkl",
                    "0998cef1036e4e578db137730f37712d3e886d29b64809875c6a1191a1b080bd",
                    "9a2cc6699156adf633ff30b0b7c077b79e781eca", 80160, needed=False,
                ),
                PublishedFile(
                    "cifar10h.npz", "votes and four classifiers as plain arrays",
                    sha256="b979a310ec839a6627624350e73387fb1eda7a5b590e4880280067059c3df790",
                ),
            ),
        ),
        Source(
            name="imagenet16h",
            title="ImageNet-16H: 1,200 images at four noise levels, 16 classes, 5 to 7 votes",
            licence="the paper's file MIT; for the original see the terms of OSF project 2ntrf",
            citation="Steyvers et al., Bayesian modeling of human-AI complementarity, PNAS 2022; " + PAPER,
            files=(
                PublishedFile(
                    "imagenet_16h.pkl", "the paper's selection: 6 votes, 20 classifiers",
                    AUTHORS + "imagenet-16H/imagenet_16h.pkl", git_blob="881fa9fbd52c85136e5e642585a0a11bcd036be3",
                ),
                PublishedFile(
                    "imagenet16h.npz", "all votes and seven classifiers as plain arrays",
                    sha256="986524f311de104335f4440c76cfd2e65ba3f7fc590ac16f388aa2a59bded8b7",
                ),
            ),
            manual=(
                "The original tables: https://osf.io/2ntrf (votes k2syr; predictions 9gqc6, 6hb3y, dfhvs).",
                "They are not read as they are: save votes, probs, models, classes, noise_level as imagenet16h.npz.",
            ),
        ),
        Source(
            name="imagenet16h_shift",
            title="ImageNet-16H with a shift half-way: 2,400 items, 16 classes, 6 votes",
            licence="the paper's file MIT; made from OSF project 2ntrf",
            citation="Steyvers et al., Bayesian modeling of human-AI complementarity, PNAS 2022; " + PAPER,
            files=(
                PublishedFile(
                    "imagenet16h_dist_shift.pkl", "votes and five classifiers",
                    AUTHORS + "imagenet-16H-distshift/imagenet16h_dist_shift.pkl",
                    "d079a6292f030846a05bcec46cf8cc3bf954c37b465a2993305a5e7067e9f74d",
                    "226032f492df6bcb6071bf4180d61c11cbccf549", 1882056,
                ),
                PublishedFile(
                    "imagenet16h_shift.npz", "the same as plain arrays",
                    sha256="e7160cef33f15c8dee76b0dbda0b89a2e6bec0de3043ecf253b8c31f9d9409ed",
                ),
            ),
        ),
        Source(
            name="chaosnli",
            title="ChaosNLI-SNLI: 1,514 pairs of sentences, 3 classes, 100 votes",
            licence="CC BY-NC 4.0",
            citation="Nie et al., What Can We Learn from Collective Human Opinions on NLI Data?, EMNLP 2020; "
            "predictions of the npz: Baan et al., Stop Measuring Calibration When Humans Disagree, EMNLP 2022",
            files=(
                PublishedFile(
                    "chaosnli_snli.npz", "counts and five classifiers as plain arrays",
                    sha256="4026ff11a01d0224e9f5699716b9ef55ccf0f5636919410eef3b3a625063e227",
                ),
            ),
            manual=(
                "Follow https://github.com/easonnie/ChaosNLI to chaosNLI_v1.0.zip (a file host, no fixed checksum).",
                "Unpack chaosNLI_snli.jsonl and model_predictions_for_snli_mnli.json into one folder.",
                "Load it with chaosnli.load(folder), or set QUORATE_DATA to the folder.",
            ),
        ),
    )
}  # fmt: skip


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
        raise invalid("path", str(path), "a file or folder that exists", "pass one with files of a data set.")
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

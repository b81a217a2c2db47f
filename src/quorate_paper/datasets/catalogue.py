"""The published data sets: files, checksums, licences, citations, and steps for what cannot be downloaded.

Used by `fetch`, and by `quorate reproduce list`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from quorate.types import VoteDataset
from quorate.validate import invalid
from quorate_paper.datasets import chaosnli, cifar10h, imagenet16h, imagenet16h_shift

AUTHORS = (
    "https://raw.githubusercontent.com/SamShowalter/bayesian_online_consensus_prediction/"
    "3c9670817267f3780e1a082707468f66d52adec7/data/"
)
PAPER = "Showalter et al., Bayesian Online Learning for Consensus Prediction, AISTATS 2024 (arXiv:2312.07679)"
Loader = Callable[..., VoteDataset]
LOADERS: dict[str, tuple[Loader, tuple[str, ...]]] = {
    module.NAME: (module.load, module.FILES) for module in (cifar10h, imagenet16h, imagenet16h_shift, chaosnli)
}


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file to download and its checksum: sha256, or the git blob id where only that was published."""

    url: str
    sha256: str | None = None
    git_blob: str | None = None

    @property
    def name(self) -> str:
        """Its name in the folder."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Source:
    """A data set: the files that `load` needs, licence, citation, and manual steps for what cannot be downloaded."""

    name: str
    title: str
    licence: str
    citation: str
    files: tuple[PublishedFile, ...] = ()
    manual: tuple[str, ...] = ()


def git_blob(path: Path) -> str:
    """The git blob id of a file: sha1 of `blob <size>\\0` and the content.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "hello"
    >>> _ = file.write_bytes(b"hello\\n")
    >>> git_blob(file)
    'ce013625030ba8dba906f756967f9e9ca394464a'
    """
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


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
                    AUTHORS + "cifar-10H/cifar10h_annotator_preds.pkl",
                    sha256="cd6d9280e76300ad2805ab45d64333a46e5390121e78443c489f5d806f2cd528",
                ),
                PublishedFile(
                    AUTHORS + "cifar-10/cifar10-fixmatch-rs1-s40.pkl",
                    git_blob="d5796ad30794ed028d33b4118211d39c97815401",
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
                    AUTHORS + "imagenet-16H/imagenet_16h.pkl", git_blob="881fa9fbd52c85136e5e642585a0a11bcd036be3"
                ),
            ),
        ),
        Source(
            name="imagenet16h_shift",
            title="ImageNet-16H with a shift half-way: 2,400 items, 16 classes, 6 votes",
            licence="the paper's file MIT; made from OSF project 2ntrf",
            citation="Steyvers et al., Bayesian modeling of human-AI complementarity, PNAS 2022; " + PAPER,
            files=(
                PublishedFile(
                    AUTHORS + "imagenet-16H-distshift/imagenet16h_dist_shift.pkl",
                    sha256="d079a6292f030846a05bcec46cf8cc3bf954c37b465a2993305a5e7067e9f74d",
                ),
            ),
        ),
        Source(
            name="chaosnli",
            title="ChaosNLI-SNLI: 1,514 pairs of sentences, 3 classes, 100 votes",
            licence="CC BY-NC 4.0",
            citation="Nie et al., What Can We Learn from Collective Human Opinions on NLI Data?, EMNLP 2020",
            manual=(
                "Follow https://github.com/easonnie/ChaosNLI to chaosNLI_v1.0.zip (a file host, no fixed checksum).",
                "Unpack chaosNLI_snli.jsonl and model_predictions_for_snli_mnli.json into one folder.",
                "Load it with chaosnli.load(folder), or set QUORATE_DATA to the folder.",
            ),
        ),
    )
}

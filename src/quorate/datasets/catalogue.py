"""The published data sets: files, checksums, licences, citations, and steps for what cannot be downloaded.

Data only; used by `fetch` to download, by `inspection` to recognise files, and by the command line.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from quorate.validate import broken

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
        raise broken("name", name, "a known data set", f"choose one of {', '.join(CATALOGUE)}.")
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

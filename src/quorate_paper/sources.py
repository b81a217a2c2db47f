"""The data sets in a folder, by the names experiments use, loaded on first use, with their checksums.

`Sources` is a mapping for `Context.datasets`; data sets that cannot be loaded are not in it, and `left_out` lists the
results that are missing for this reason. Called by `reproduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from quorate.errors import InvalidInput
from quorate.types import VoteDataset
from quorate_paper.datasets import LOADERS as PUBLISHED
from quorate_paper.datasets import checksum, cifar10h, find, imagenet16h

LOADERS: dict[str, tuple[Callable[[Path], VoteDataset], tuple[str, ...]]] = {
    **PUBLISHED,
    cifar10h.IMBALANCED: (cifar10h.load_imbalanced, cifar10h.IMBALANCED_FILES),
}
TITLES = {  # of the published sets: only these can be reported as missing
    "cifar10h": "CIFAR-10H",
    "imagenet16h": "ImageNet-16H",
    "imagenet16h_shift": "the ImageNet-16H shift set",
    "chaosnli": "ChaosNLI",
}
USES = {  # experiment -> the data sets it reads, with a phrase for the result
    "curves": ("curves", ("cifar10h", "imagenet16h", "imagenet16h_shift", "chaosnli")),
    "shift": ("shift experiments", ("imagenet16h_shift",)),
    "two-phase": ("two-phase gains", ("cifar10h", "cifar10h_imbalanced")),
    "calibration": ("calibration figures", ("cifar10h", "cifar10h_imbalanced")),
}
NEVER_THINNED = ("imagenet16h_shift",)  # its results are compared with the paper's table


@dataclass(frozen=True, eq=False)
class Sources(Mapping[str, VoteDataset]):
    """Data sets of one folder: those of `LOADERS` by name; imagenet16h as imagenet16h/<model> and imagenet16h/all.

    "imagenet16h/<model>" has the items that this classifier covers, "imagenet16h/all" the items covered by most
    classifiers, with all of these. `most_items`: only every second, third, ... item of larger sets, for a quick run;
    blocks of the stream keep their shares. Checking whether a data set exists loads it, and no other.
    """

    folder: Path
    most_items: int | None = None
    _loaded: dict[str, VoteDataset | InvalidInput] = field(default_factory=dict, repr=False)
    _parts: dict[str, VoteDataset] = field(default_factory=dict, repr=False)
    _checksums: dict[str, str] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> VoteDataset:
        if name not in self._parts:
            self._parts[name] = _thinned(self._part(name), None if name in NEVER_THINNED else self.most_items)
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        for name in LOADERS:
            dataset = self.source(name)
            if isinstance(dataset, VoteDataset):
                models = (*dataset.models, "all") if name == imagenet16h.NAME else ()
                yield from (f"{name}/{model}" for model in models) if models else (name,)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def source(self, name: str) -> VoteDataset | InvalidInput:
        """A whole published set, or the error that it could not be loaded."""
        if name not in self._loaded:
            try:
                self._loaded[name] = LOADERS[name][0](self.folder)
            except InvalidInput as problem:
                self._loaded[name] = problem
        return self._loaded[name]

    def checksum(self, name: str) -> str:
        """sha256 of a data set's content."""
        if name not in self._checksums:
            self._checksums[name] = checksum(self[name])
        return self._checksums[name]

    def checksums(self) -> dict[str, str]:
        """The checksums of every data set used so far, by name."""
        return {name: self._checksums[name] for name in sorted(self._checksums)}

    def left_out(self, parts: Iterable[str]) -> tuple[str, ...]:
        """A sentence for each result that these experiments cannot show because data is missing.

        >>> Sources(Path("nowhere")).left_out(["shift"])[0]
        'shift experiments for the ImageNet-16H shift set are left out: no imagenet16h_shift.npz in nowhere'
        """
        wanted = [(what, name) for part in parts for what, names in (USES[part],) for name in names if name in TITLES]
        return tuple(
            f"{what} for {TITLES[name]} are left out: {why}" for what, name in wanted if (why := self._missing(name))
        )

    def any_of(self, parts: Iterable[str]) -> bool:
        """Whether there is any data set for these experiments."""
        return any(not self._missing(name) for part in parts for name in USES[part][1])

    def _missing(self, name: str) -> str:
        """Why a data set is missing; "" if it is not."""
        dataset = self.source(name)
        if isinstance(dataset, VoteDataset):
            return ""
        files = LOADERS[name][1]
        found = find(self.folder, files, dataset=name) if self.folder.is_dir() else None
        return str(dataset) if found else f"no {files[0]} in {self.folder}"

    def _part(self, name: str) -> VoteDataset:
        base, _, model = name.partition("/")
        dataset = self.source(base) if base in LOADERS else None
        if not isinstance(dataset, VoteDataset):
            raise KeyError(name)
        if base != imagenet16h.NAME:
            if model:
                raise KeyError(name)
            return dataset
        if model != "all" and model not in dataset.models:
            raise KeyError(name)
        return imagenet16h.covered(dataset, None if model == "all" else model)


def _thinned(dataset: VoteDataset, most_items: int | None) -> VoteDataset:
    """Every n-th item, so that at most `most_items` remain."""
    if most_items is None or dataset.num_items <= most_items:
        return dataset
    rows = slice(None, None, -(-dataset.num_items // most_items))
    note = f"quick: every {rows.step}th of {dataset.num_items} items"
    return replace(dataset.rows(rows), notes=(*dataset.notes, note))

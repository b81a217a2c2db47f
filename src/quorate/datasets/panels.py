"""Panels with known members: the four sets of Kelly et al. (ICML 2025), with a column of votes for each expert.

Chest X-rays (5 radiologists) and Chaoyang (3 pathologists) are real votes; the experts of the other two were simulated
by the authors (GitHub `markellekelly/consensus`). `voters` holds the column number: expert 0, 1, ...
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from quorate.datasets.arrays import tidied, vote_dataset
from quorate.datasets.content import locate
from quorate.errors import InvalidInput
from quorate.packed_files import plain_arrays
from quorate.types import VoteDataset
from quorate.validate import broken

TITLES = {
    "kelly_nih": "chest X-ray",
    "kelly_chaoyang": "Chaoyang",
    "kelly_cifar": "cifar, simulated experts",
    "kelly_imagenet": "imagenet, simulated experts",
}
NAMES = tuple(TITLES)


def load(name: str, path: str | Path | None = None) -> VoteDataset:
    """One of `NAMES` from NAME.npz, with `votes` (T, N) and `probs` (T, K); None: the folder in `QUORATE_DATA`.

    >>> load("kelly_nih", "nowhere")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    quorate.errors.InvalidInput: path='nowhere' is neither a file nor a folder with kelly_nih.npz, ...
    """
    if name not in TITLES:
        raise broken("name", name, f"one of {', '.join(NAMES)}", "pass one of them.")
    try:
        file = locate(path, (f"{name}.npz",), dataset=name)
    except InvalidInput as missing:  # these sets have no licence, so `data fetch` does not offer them
        fix = "create it from the tables of GitHub `markellekelly/consensus` and pass its folder as `path`."
        raise broken("path", missing.value, f"a file, or a folder with {name}.npz", fix) from None
    content = plain_arrays(file)
    if not isinstance(content, dict) or not {"votes", "probs"} <= content.keys():
        rule = "an .npz with `votes` (items, experts) and `probs` (items, classes)"
        raise broken("path", str(file), rule, "save it with np.savez.")
    votes = np.asarray(content["votes"]).astype(np.int64)
    probs, notes = tidied(content["probs"])
    experts = np.broadcast_to(np.arange(votes.shape[1]), votes.shape)
    classes = [str(k) for k in range(probs.shape[-1])]
    return vote_dataset(votes, probs, classes=classes, name=name, notes=notes, voters=np.array(experts))


LOADERS = {name: partial(load, name) for name in NAMES}

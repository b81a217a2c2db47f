"""ChaosNLI-SNLI: 1,514 pairs of sentences, 3 classes, 100 votes each (Nie et al., EMNLP 2020) -> `VoteDataset`.

Reads `chaosnli_snli.npz`, or the published `.jsonl` with the published predictions (`.json`, logits by item).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from quorate.datasets import expand_counts, load_npz, vote_dataset
from quorate.numerics import softmax
from quorate.types import FloatArray, VoteDataset
from quorate.validate import floored, invalid
from quorate_paper.datasets.content import with_predictions
from quorate_paper.datasets.places import beside, locate, unknown_form
from quorate_paper.datasets.prediction_files import Paths, PredictionArrays, read_predictions

NAME = "chaosnli"
FILES = ("chaosnli_snli.npz", "chaosNLI_snli.jsonl")
PREDICTIONS = ("model_predictions_for_snli_mnli.json",)
CLASSES = ("entailment", "neutral", "contradiction")
FORMS = "chaosnli_snli.npz, or chaosNLI_snli.jsonl with `uid` and `label_count` [E, N, C] in each line"


def load(path: str | Path | None = None, *, predictions: Paths | None = None) -> VoteDataset:
    """ChaosNLI from a file or a folder; None: the folder in `QUORATE_DATA`.

    Counts become 100 votes per item. `predictions`: file(s) of probabilities (items, 3) or (models, items, 3), or the
    published `model_predictions_for_snli_mnli.json`, which is used automatically if it is near the `.jsonl`.

    >>> load("nowhere")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    quorate.errors.InvalidInput: path='nowhere' is neither a file nor a folder with chaosnli_snli.npz, ...
    """
    file = locate(path, FILES, dataset=NAME)
    if file.suffix == ".npz":
        return with_predictions(load_npz(file, name=NAME, classes=CLASSES), predictions)
    if file.suffix != ".jsonl":
        raise unknown_form(file, NAME, FORMS)
    uids, counts = _read_jsonl(file)
    source = predictions if predictions is not None else beside(file, PREDICTIONS)
    if source is None:
        rule = f"probabilities ({len(uids)}, 3) for the votes of {str(file)!r}, in the order of its lines"
        fix = f"put {PREDICTIONS[0]} next to it, or pass `predictions='probs.npy'` (or .npz, .csv, .parquet)."
        raise invalid("predictions", None, rule, fix)
    if isinstance(source, (str, Path)) and Path(source).suffix == ".json":
        read = _read_logits(Path(source), uids)
    else:
        read = read_predictions(source, num_items=len(uids), classes=CLASSES)
    votes = expand_counts(counts)
    return vote_dataset(votes, read.probs, classes=CLASSES, models=read.models, name=NAME, notes=read.notes)


def _read_jsonl(file: Path) -> tuple[list[str], list[list[int]]]:
    try:
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        uids, counts = [str(line["uid"]) for line in lines], [list(line["label_count"]) for line in lines]
    except (ValueError, KeyError, TypeError) as cause:
        raise unknown_form(file, NAME, f"{FORMS} ({cause!r})") from None
    if not uids or any(len(row) != len(CLASSES) for row in counts):
        raise unknown_form(file, NAME, FORMS)
    return uids, counts


def _read_logits(file: Path, uids: list[str]) -> PredictionArrays:
    """The published predictions: model -> uid -> logits [E, N, C], converted by a softmax."""
    try:
        content: Any = json.loads(file.read_text(encoding="utf-8"))
        logits: dict[str, FloatArray] = {
            str(model): np.array([items[uid]["logits"] for uid in uids], dtype=np.float64)
            for model, items in content.items()
        }
        probs = floored(softmax(np.stack(list(logits.values()))))  # (M, T, K)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as cause:
        rule = f"model -> uid -> logits for every item ({cause!r})"
        fix = f"use {PREDICTIONS[0]} as published, or probabilities in an .npy, .npz, .csv or .parquet."
        raise invalid("predictions", str(file), rule, fix) from None
    return PredictionArrays(probs, tuple(logits), ("predictions are the softmax of the published logits",))

"""A synthetic stream. Parameters: accuracy, calibration and evenness of the classifier, agreement of experts, a shift.

Modelled on the real sets: an item is clear or confusing for both experts and classifier; experts who are wrong agree on
a few confusable classes; an uneven classifier over-predicts some classes, as if trained on an unbalanced set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from quorate.datasets.arrays import vote_dataset
from quorate.numerics import beta_quantile, find_root, normal_cdf, normal_quantile, softmax
from quorate.rng import stream
from quorate.types import FloatArray, IntArray, VoteDataset
from quorate.validate import bounded, fraction, invalid, members, whole

CLARITY_SPREAD = 1.5  # Beta concentration of an item's agreement: mostly clear, some confusing, as in ImageNet-16H
MOST_CLASSES = 1000  # of a synthetic stream; recorded ones may have more
MOST_CELLS = 10**8  # items * classes * votes: about a gigabyte while it is generated
NUM_LEVELS = 20  # quantiles of that Beta, to average the classifier's accuracy over


def synthetic(
    *,
    num_items: int = 2000,
    num_classes: int = 10,
    pool_size: int = 10,
    accuracy: float = 0.7,
    calibration: float = 1.0,
    unevenness: float = 0.0,
    agreement: float = 0.8,
    shift_accuracy: float | None = None,
    shift_agreement: float | None = None,
    num_models: int = 1,
    seed: int = 0,
) -> VoteDataset:
    """A stream of `num_items` items voted on by a pool of `pool_size` experts.

    accuracy: how often the classifier predicts the true class (1/num_classes is useless)
    calibration: 1 honest on average (mean confidence equals accuracy), above 1 overconfident, below 1 underconfident
    unevenness: 0 treats all classes equally; 1 strongly over-predicts some and hardly ever predicts others
    agreement: how often an expert names the true class, on average over clear and confusing items
    shift_accuracy, shift_agreement: their values in the second half of the stream

    >>> data = synthetic(num_items=100, pool_size=6, accuracy=0.9, seed=1)
    >>> data.votes.shape, data.predictions.shape
    ((100, 6), (1, 100, 10))
    """
    num_items = whole(num_items, where="num_items")
    num_classes = whole(num_classes, where="num_classes", least=2, most=MOST_CLASSES)
    pool_size = members(pool_size)
    num_models = whole(num_models, where="num_models")
    _refuse_giants(num_items, num_classes, pool_size, num_models)
    unevenness = fraction(unevenness, where="unevenness")
    calibration = bounded(calibration, where="calibration", least=0.0)
    seed = whole(seed, where="seed", least=0)
    halves = [
        Half(accuracy, agreement, num_classes),
        Half(
            accuracy if shift_accuracy is None else shift_accuracy,
            agreement if shift_agreement is None else shift_agreement,
            num_classes,
        ),
    ]
    shifted = shift_accuracy is not None or shift_agreement is not None
    blocks = (np.arange(num_items) >= (num_items + 1) // 2).astype(np.int64) * shifted  # (T,)
    rng = stream(seed, "synthetic")
    truth = rng.integers(num_classes, size=num_items)  # (T,)
    agreeing = np.array([half.agreement for half in halves])[blocks]
    clarity = rng.beta(CLARITY_SPREAD * agreeing + 1e-9, CLARITY_SPREAD * (1 - agreeing) + 1e-9)  # (T,)
    votes = _votes(truth, clarity, num_classes, pool_size, rng)
    items = Items(truth, clarity, blocks)
    predictions = [
        _predictions(items, halves, unevenness, calibration, stream(seed, "model", m)) for m in range(num_models)
    ]
    names = [f"class-{k}" for k in range(num_classes)]
    return vote_dataset(votes, np.stack(predictions), classes=names, blocks=blocks, name="synthetic")


def _refuse_giants(num_items: int, num_classes: int, pool_size: int, num_models: int) -> None:
    """Refuse streams that would not fit into memory."""
    cells = num_items * num_classes * max(pool_size, num_models)
    if cells > MOST_CELLS:
        rule = f"at most {MOST_CELLS:.2g} cells (items * classes * votes or models); here there are {cells:.2g}"
        raise invalid("num_items", num_items, rule, "lower `num_items`, `num_classes`, `pool_size` or `num_models`.")


@dataclass(frozen=True, slots=True)
class Half:
    """The parameters of one half of the stream."""

    accuracy: float
    agreement: float
    num_classes: int

    def __post_init__(self) -> None:
        """Refuse an accuracy or agreement below that of guessing."""
        for where in ("accuracy", "agreement"):
            value = fraction(getattr(self, where), where=where)
            if value < 1 / self.num_classes - 1e-9:
                rule = f"at least {1 / self.num_classes:.4g}, as by guessing among {self.num_classes} classes"
                raise invalid(where, value, rule, "raise it.")


@dataclass(frozen=True, slots=True)
class Items:
    """For each item (T,): its true class, the share of experts who vote for it, and its half of the stream."""

    truth: IntArray
    clarity: FloatArray
    blocks: IntArray


def _votes(
    truth: IntArray, clarity: FloatArray, num_classes: int, pool_size: int, rng: np.random.Generator
) -> np.ndarray:
    """Each expert votes for the true class with probability `clarity`, else for one of a few confusable classes."""
    wrong = rng.dirichlet(np.full(num_classes, 0.3), size=len(truth))  # (T, K)
    rows = np.arange(len(truth))
    wrong[rows, truth] = 0.0
    wrong /= wrong.sum(axis=1, keepdims=True)
    belief = wrong * (1 - clarity)[:, None]
    belief[rows, truth] = clarity
    edges = belief.cumsum(axis=1)
    draws = rng.random((len(truth), pool_size))
    return np.asarray((draws[:, :, None] > edges[:, None, :-1]).sum(axis=2), dtype=np.int16)  # (T, N)


def _predictions(
    items: Items, halves: list[Half], unevenness: float, calibration: float, rng: np.random.Generator
) -> FloatArray:
    """softmax of evidence z = strength * clarity e_truth + lean + N(0, 1), at a temperature that makes it honest.

    The lean towards some classes is the unevenness. The temperature is that of the first half: the classifier does not
    know of the shift.
    """
    num_classes = halves[0].num_classes
    quantiles = np.array([normal_quantile((k + 0.5) / num_classes) for k in range(num_classes)])
    lean = 1.5 * unevenness * quantiles[rng.permutation(num_classes)]  # (K,)
    strengths = np.array([evidence_strength(half, lean) for half in halves])
    evidence = rng.standard_normal((len(items.truth), num_classes)) + lean
    evidence[np.arange(len(items.truth)), items.truth] += strengths[items.blocks] * items.clarity
    first = evidence[items.blocks == 0]

    def confidence(sharpness: float) -> float:
        return float(softmax(sharpness * first).max(axis=1).mean())

    wanted = min(max(halves[0].accuracy, 1 / num_classes + 0.01), confidence(50.0))
    honest = find_root(lambda sharpness: confidence(sharpness) - wanted, 0.0, 50.0, within=1e-6)
    return softmax(calibration * honest * evidence)


@lru_cache(maxsize=256)
def _clarity_levels(agreement: float) -> FloatArray:
    """Quantiles of the items' clarity."""
    levels = (np.arange(NUM_LEVELS) + 0.5) / NUM_LEVELS
    return beta_quantile(CLARITY_SPREAD * agreement + 1e-9, CLARITY_SPREAD * (1 - agreement) + 1e-9, levels)


def evidence_strength(half: Half, lean: FloatArray) -> float:
    """Strength with mean accuracy `half.accuracy` over classes and levels of clarity, by quadrature and bracketing."""
    clarity = _clarity_levels(half.agreement)  # (L,)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    classes = range(len(lean)) if lean.any() else range(1)  # an even classifier is as accurate on every class

    def excess(strength: float) -> float:
        ahead = nodes + strength * clarity[:, None]  # (L, nodes): the truth's evidence without its lean
        right = 0.0
        for k in classes:
            others = np.delete(lean, k)
            beats = np.prod(normal_cdf(ahead[..., None] + lean[k] - others), axis=-1)  # (L, nodes)
            right += float((beats @ weights).mean()) / len(classes)
        return right - half.accuracy

    return 0.0 if excess(0.0) >= 0 else find_root(excess, 0.0, 200.0, within=1e-6) if excess(200.0) > 0 else 200.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A synthetic stream: a short key for files, a title and a description for readers, and its parameters."""

    key: str
    title: str
    about: str
    num_items: int
    pool_size: int
    dials: Mapping[str, Any] = field(default_factory=dict)

    def dataset(self, seed: int, *, num_items: int | None = None) -> VoteDataset:
        """The stream of that seed."""
        return synthetic(num_items=num_items or self.num_items, pool_size=self.pool_size, seed=seed, **self.dials)

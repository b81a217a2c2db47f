"""A built-in stream with dials: how good, honest and even the classifier is, how far experts agree, a shift half-way.

The classifier sees Gaussian evidence z = s e_c + noise for the item's true class c, for which softmax(s z) is exactly
calibrated; the dials then bend it. Experts vote independently given the item's own difficulty.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, softmax

from quorate.datasets.arrays import vote_dataset
from quorate.errors import InvalidInput
from quorate.rng import stream
from quorate.types import FloatArray, VoteDataset
from quorate.validate import bounded, fraction, whole


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

    accuracy: how often the classifier names the true class (1/num_classes is a useless one)
    calibration: 1 honest, above 1 overconfident, below 1 shy (predictions are raised to this power)
    unevenness: 0 the same for all classes; 1 accuracies spread as widely as they can around the mean
    agreement: how often an expert names the true class; items differ in difficulty
    shift_accuracy, shift_agreement: their values in the second half of the stream

    >>> data = synthetic(num_items=100, pool_size=6, accuracy=0.9, seed=1)
    >>> data.votes.shape, data.predictions.shape
    ((100, 6), (1, 100, 10))
    """
    num_items = whole(num_items, where="num_items")
    num_classes = whole(num_classes, where="num_classes", least=2)
    pool_size = whole(pool_size, where="pool_size")
    num_models = whole(num_models, where="num_models")
    bounded(calibration, where="calibration", least=0.0)
    fraction(unevenness, where="unevenness")
    shifted = shift_accuracy is not None or shift_agreement is not None
    half = (num_items + 1) // 2 if shifted else num_items
    blocks = (np.arange(num_items) >= half).astype(np.int64)  # (T,)
    accuracies = [accuracy, accuracy if shift_accuracy is None else shift_accuracy]
    agreements = [agreement, agreement if shift_agreement is None else shift_agreement]
    for value in accuracies:
        _check_rate(value, "accuracy", num_classes)
    for value in agreements:
        _check_rate(value, "agreement", num_classes)
    rng = stream(seed, "synthetic")
    truth = rng.integers(num_classes, size=num_items)  # (T,)
    votes = _votes(truth, np.array(agreements)[blocks], num_classes, pool_size, rng)
    predictions = np.stack(
        [
            _predictions(truth, blocks, accuracies, num_classes, unevenness, calibration, stream(seed, "model", m))
            for m in range(num_models)
        ]
    )
    return vote_dataset(
        votes,
        predictions,
        classes=[f"class-{k}" for k in range(num_classes)],
        blocks=blocks,
        name="synthetic",
    )


def _votes(
    truth: np.ndarray, agreement: FloatArray, num_classes: int, pool_size: int, rng: np.random.Generator
) -> np.ndarray:
    """Each expert names the true class with the item's own probability ~ Beta(mean=agreement), or a confusable one."""
    spread = 4.0  # Beta concentration: hard and easy items, as in the image sets
    share = rng.beta(spread * agreement + 1e-9, spread * (1 - agreement) + 1e-9)  # (T,)
    wrong = rng.dirichlet(np.full(num_classes, 0.3), size=len(truth))  # (T, K): a few confusable classes
    rows = np.arange(len(truth))
    wrong[rows, truth] = 0.0
    wrong /= wrong.sum(axis=1, keepdims=True)
    belief = wrong * (1 - share)[:, None]
    belief[rows, truth] = share
    edges = belief.cumsum(axis=1)
    draws = rng.random((len(truth), pool_size))
    return np.asarray((draws[:, :, None] > edges[:, None, :-1]).sum(axis=2), dtype=np.int16)  # (T, N)


def _predictions(
    truth: np.ndarray,
    blocks: np.ndarray,
    accuracies: list[float],
    num_classes: int,
    unevenness: float,
    calibration: float,
    rng: np.random.Generator,
) -> FloatArray:
    """softmax(s z)^calibration with evidence z = s_c e_c + N(0, 1), s solved for the wanted accuracy of each class."""
    ranks = np.linspace(-1.0, 1.0, num_classes)[rng.permutation(num_classes)]
    strengths = np.empty((2, num_classes))
    for half, accuracy in enumerate(accuracies):
        room = min(accuracy - 1 / num_classes, 1 - 1e-6 - accuracy)
        per_class = np.clip(accuracy + unevenness * max(room, 0.0) * ranks, 1 / num_classes, 1 - 1e-6)
        strengths[half] = [evidence_strength(round(float(a), 9), num_classes) for a in per_class]
    evidence = rng.standard_normal((len(truth), num_classes))
    evidence[np.arange(len(truth)), truth] += strengths[blocks, truth]
    honest = np.maximum(strengths[0].mean(), 0.2)  # the classifier does not know that the world has shifted
    return np.asarray(softmax(calibration * honest * evidence, axis=1))


@lru_cache(maxsize=4096)
def evidence_strength(accuracy: float, num_classes: int) -> float:
    """s with P(s + z_0 > max of K-1 standard normals) = accuracy, by Gauss-Hermite quadrature and bracketing."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()

    def excess(strength: float) -> float:
        return float(weights @ ndtr(nodes + strength) ** (num_classes - 1)) - accuracy

    return 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0.0, 12.0))


def _check_rate(value: float, where: str, num_classes: int) -> None:
    fraction(value, where=where)
    if value < 1 / num_classes - 1e-9:
        raise InvalidInput(
            f"{where}={value!r} is worse than guessing among {num_classes} classes; "
            f"expected at least {1 / num_classes:.4g}."
        )

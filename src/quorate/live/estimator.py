"""`ConsensusClassifier`: fit, partial_fit, predict and score as in scikit-learn, which it needs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted

from quorate.errors import shown
from quorate.live.base_classifier import (
    BaseClassifier,
    Features,
    base_predictions,
    features_given,
    fit_base,
    rows_of,
    unseen_predictions,
)
from quorate.methods import Method, as_method
from quorate.model import ASK, Gains, MapLearner, QueryPolicy, Window, classifier_alone, fit, plurality_shares, refit
from quorate.session import BatchDecisions, decide_items
from quorate.types import FitReport, FloatArray, IntArray, PriorParams
from quorate.validate import counts, invalid, members, probabilities


def checked_predictions(predictions: ArrayLike) -> FloatArray:
    """Probabilities (T, K), or (T, M, K) for M classifiers."""
    probs = probabilities(predictions, where="predictions")
    if probs.ndim not in (2, 3) or len(probs) == 0:
        rule = f"shape (items, classes) or (items, classifiers, classes) with at least one item, not {probs.shape}"
        raise invalid("predictions", probs.tolist(), rule, "pass a list of one row for one item.")
    return probs


def class_array(given: ArrayLike | None, votes: np.ndarray, num_classes: int | None = None) -> np.ndarray:
    """The classes in the order of the probabilities: as given, else the labels in `votes`, else 0 .. K-1."""
    labels = np.unique(votes) if votes.ndim == 1 else np.arange(num_classes or votes.shape[-1])
    names = labels if given is None else np.asarray(given)
    num_classes = num_classes or len(names)
    if names.shape != (num_classes,) or len(set(names.tolist())) != num_classes:
        rule = f"{num_classes} different names, one per class of `predictions`, in the order of the probabilities"
        raise invalid("classes", names.tolist(), rule, "pass `classes=[...]`.")
    return names


def vote_counts(votes: np.ndarray, classes: np.ndarray, num_items: int) -> IntArray:
    """Counts (T, K), from counts or from one label for each item.

    >>> vote_counts(np.array(["dog", "cat"]), np.array(["cat", "dog"]), 2).tolist()
    [[0, 1], [1, 0]]
    """
    tally = _from_labels(votes, classes) if votes.ndim == 1 else counts(votes)
    if tally.shape != (num_items, len(classes)):
        rule = f"counts ({num_items}, {len(classes)}), one per item and class, or {num_items} labels"
        fix = "pass as many rows as there are predictions."
        raise invalid("votes", votes.tolist(), f"{rule}, not shape {votes.shape}", fix)
    return tally


def _from_labels(votes: np.ndarray, classes: np.ndarray) -> IntArray:
    places = {name: index for index, name in enumerate(classes.tolist())}
    tally = np.zeros((len(votes), len(classes)), dtype=np.int64)
    for row, label in enumerate(votes.tolist()):
        if label not in places:
            raise invalid("votes", label, f"one of {shown(list(places))}", "pass its name.", place=f"row {row}")
        tally[row, places[label]] = 1
    return tally


def votes_given(votes: ArrayLike | None) -> np.ndarray:
    """The votes as an array; refuses none at all, and numbers that are no labels."""
    if votes is None:
        rule = "counts or labels: fit requires y to be passed, but the target y is None"
        raise invalid("votes", None, rule, "pass the votes.")
    cast = np.asarray(votes)
    if cast.ndim == 2 and cast.shape[1] == 1:
        cast = column_or_1d(cast, warn=True)
    if cast.ndim == 1 and cast.dtype.kind == "f" and (cast != np.floor(cast)).any():
        rule = "labels, or counts (items, classes). Unknown label type: continuous"
        raise invalid("votes", cast.tolist(), rule, "pass class labels.")
    return cast


class ConsensusClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learns from recorded votes how far a classifier can be trusted; predicts the plurality of a pool of experts.

    `method` a name or `quorate.method(...)` that learns; `classes` names in the order of the probabilities (default:
    the votes' own names in sorted order, or 0 .. K-1); `pool_size` experts per item (default: the most votes of one).
    `partial_fit` learns from the last items with votes, as many as the learner's window.

    Without `estimator`, X are a classifier's probabilities. With one, a scikit-learn classifier, X are its features:
    `fit` fits a copy of it to the plurality of the votes, and learns how far it can be trusted from its predictions
    for items left out, in `cv` folds (a number, or what scikit-learn takes). One that is fitted already is passed as
    scikit-learn's `FrozenEstimator(fitted)`: it stays as it is.

    After `fit`: `params_`, `report_`, `classes_`, `pool_size_`, `n_features_in_`, with a base classifier also
    `estimator_` and, for data frames, `feature_names_in_`. Items without votes are answered by `answer_params_`, so
    that answers are no worse than the classifier's.

    >>> predictions = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]
    >>> model = ConsensusClassifier(classes=["cat", "dog"]).fit(predictions, [[3, 0], [0, 2], [1, 2]])
    >>> model.predict([[0.9, 0.1], [0.5, 0.5]], votes=[[0, 0], [0, 2]]).tolist()
    ['cat', 'dog']
    """

    _is_proved: bool | None

    def __init__(
        self,
        method: Method | str | QueryPolicy = "value",
        *,
        classes: ArrayLike | None = None,
        pool_size: int | None = None,
        estimator: BaseClassifier | None = None,
        cv: object = 5,
    ) -> None:
        self.method = method
        self.classes = classes
        self.pool_size = pool_size
        self.estimator = estimator
        self.cv = cv

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn Theta (see `quorate.fit`) from predictions (T, K), or (T, M, K) for M classifiers, and the votes.

        `X` are the predictions, or with `estimator` the features it takes. `y` are the votes: counts (T, K); or (T,)
        one label an item, as scikit-learn passes them: one vote each.
        """
        return self._fit(X, votes_given(y), self.classes)

    def _fit(self, given: ArrayLike, votes: np.ndarray, classes: ArrayLike | None) -> Self:
        learner = self._learner()
        if self.estimator is None:
            probs, tally = self._read(given, votes, classes)
        else:
            probs, tally = self._fit_base(self.estimator, features_given(given), votes, classes)
        most = int(tally.sum(axis=-1).max())
        self.pool_size_ = max(most, 1) if self.pool_size is None else members(self.pool_size)
        if most > self.pool_size_:
            rule = f"counts by class, at most {self.pool_size_} votes per item (`pool_size`), not a column per expert"
            raise invalid("votes", f"{most} votes of one item", rule, "count the votes for each class, or raise it.")
        self.params_: PriorParams
        self.report_: FitReport
        self.params_, self.report_ = fit(probs, tally, hyperprior=learner.hyperprior, bias=learner.bias)
        self._window = self._new_window(probs.shape[1:])
        self._remember(probs, tally)
        self._learned_from(np.log(probs).reshape(len(probs), -1, probs.shape[-1]), tally)
        return self

    def _read(
        self, predictions: ArrayLike, votes: np.ndarray, classes: ArrayLike | None
    ) -> tuple[FloatArray, IntArray]:
        """Predictions and votes as they are; the classes follow from them."""
        probs = checked_predictions(predictions)
        self.classes_ = class_array(classes, votes, probs.shape[-1])
        self.n_features_in_ = probs.shape[-1]
        return probs, vote_counts(votes, self.classes_, len(probs))

    def _fit_base(
        self, base: BaseClassifier, features: Features, votes: np.ndarray, classes: ArrayLike | None
    ) -> tuple[FloatArray, IntArray]:
        """The base classifier fitted to items with votes; its predictions for them when they are left out."""
        self.classes_ = class_array(classes, votes)
        tally = vote_counts(votes, self.classes_, features.shape[0] if features.shape else 0)
        voted = np.flatnonzero(tally.any(axis=-1))
        if not voted.size:
            raise invalid("votes", tally.tolist(), "votes on at least one item", "pass counts, not all 0.")
        if voted.size < len(tally):
            features, tally = rows_of(features, voted), tally[voted]
        labels = self.classes_[tally.argmax(axis=-1)]
        self.estimator_ = fit_base(base, features, labels)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        probs = unseen_predictions(base, features, labels, self.classes_, self.cv)
        return checked_predictions(probs), tally

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from more items, starting from what was learned before; arguments as in `fit`.

        `classes` as in `__init__`: needed in the first call if `y` are labels and do not name every class. With
        `estimator`, the first call is `fit`; later ones leave the base classifier as it is.
        """
        cast, named = votes_given(y), self.classes if classes is None else classes
        if self.estimator is not None and not hasattr(self, "_window"):
            return self._fit(X, cast, named)
        probs = self._predictions(X)
        if not hasattr(self, "_window"):
            self._begin(probs.shape[1:], class_array(named, cast, probs.shape[-1]))
        tally = vote_counts(cast, self.classes_, len(self._of_fitted_shape(probs)))
        self._remember(probs, tally)
        self._refit()
        return self

    @property
    def answer_params_(self) -> PriorParams:
        """The parameters for items without votes: the classifier's answers, unless what was learned proves better.

        That is tried by fits to every other item (`learning.answers`), after each fit.
        """
        learned = self._fitted().params_
        return learned if self._is_proved else classifier_alone(learned)

    def _gains(self, logs: FloatArray, votes: IntArray) -> Gains:
        """What parameters learned from one half of the window win on the other."""
        gains = Gains()
        for half in range(2):
            kept = np.arange(len(votes)) % 2 == half
            if kept.any() and not kept.all():
                predictions = np.exp(logs[kept]).reshape(-1, *self.params_.tau.shape)
                fitted = self._learner().learn(predictions, votes[kept], self.params_)
                gains = gains.after(fitted, logs[~kept], votes[~kept])
        return gains

    def predict_proba(self, X: ArrayLike, votes: ArrayLike | None = None) -> FloatArray:
        """Who will win each item's pool, (T, K), given the votes seen so far (none by default)."""
        return self._answered(X, votes).probs

    def predict(self, X: ArrayLike, votes: ArrayLike | None = None) -> np.ndarray:
        """The most probable winner of each item's pool, (T,) class names; the first of tied classes."""
        labels = self._answered(X, votes).labels
        return np.asarray(self.classes_[labels])

    def asks(self, X: ArrayLike, votes: ArrayLike | None = None) -> np.ndarray:
        """Whether to ask one more expert, (T,) of bool, as a session with these parameters would decide."""
        return np.asarray(self._decided(X, votes).codes == ASK)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Share of items with votes where `predict(X)`, without votes, names their plurality; ties shared."""
        named = self._answered(X, None).labels
        tally = vote_counts(votes_given(y), self.classes_, len(named))
        voted = np.flatnonzero(tally.any(axis=-1))
        if voted.size == 0:
            raise invalid("votes", tally.tolist(), "votes on at least one item", "pass counts, not all 0.")
        return float(plurality_shares(tally[voted])[np.arange(voted.size), named[voted]].mean())

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - sklearn.utils.Tags
        tags = super().__sklearn_tags__()
        if self.estimator is None:
            tags.input_tags.positive_only = tags.input_tags.three_d_array = True
        else:
            tags.input_tags = deepcopy(get_tags(self.estimator).input_tags)
        return tags

    def _begin(self, shape: tuple[int, ...], classes: np.ndarray) -> None:
        """Start from the hyperprior's mode, with nothing learned."""
        learner, num_classifiers = self._learner(), shape[0] if len(shape) == 2 else 1
        mode = learner.hyperprior.mode(shape[-1], num_classifiers, with_bias=learner.bias)
        self.classes_, self.n_features_in_ = classes, shape[-1]
        self.pool_size_ = 1 if self.pool_size is None else members(self.pool_size)
        self.params_ = PriorParams(mode.theta, mode.phi, mode.tau.reshape(shape), mode.bias)
        self._window = self._new_window(shape)
        self._learned_from(self._window.log_predictions, self._window.votes)

    def _new_window(self, shape: tuple[int, ...]) -> Window:
        self._num_seen = self._since_fit = 0
        return Window(self._learner().window, shape[0] if len(shape) == 2 else 1, shape[-1])

    def _remember(self, probs: FloatArray, tally: IntArray) -> None:
        """Put items with votes into the window; the oldest leave it."""
        if self.pool_size is None:
            self.pool_size_ = max(self.pool_size_, int(tally.sum(axis=-1).max()))
        voted = np.flatnonzero(tally.any(axis=-1))
        logs = np.log(probs).reshape(len(probs), -1, probs.shape[-1])
        size = self._learner().window
        for row in voted if size is None else voted[-size:]:
            name = str(self._num_seen)
            self._window.enter(name, logs[row])
            for label in np.flatnonzero(tally[row]):
                self._window.add(name, int(label), int(tally[row, label]))
            self._num_seen += 1
        self._since_fit += len(voted)

    def _refit(self) -> None:
        if self._since_fit:
            self.params_, self.report_ = refit(self.params_, self._window, self._learner().hyperprior)
            self._since_fit = 0
            self._learned_from(self._window.log_predictions, self._window.votes)

    def _learned_from(self, log_predictions: FloatArray, votes: IntArray) -> None:
        """Whether what was learned has proved better, for `answer_params_`."""
        proves = as_method(self.method).proves_answers
        self._is_proved = not proves or self._gains(log_predictions, votes).are_proven

    def _of_fitted_shape(self, probs: FloatArray) -> FloatArray:
        expected = self._fitted().params_.tau.shape
        if probs.shape[1:] != expected:
            rule = f"shape (items, {', '.join(map(str, expected))}), as fitted, not {probs.shape}"
            raise invalid("predictions", probs.tolist(), rule, "pass as many classes and classifiers.")
        return probs

    def _learner(self) -> MapLearner:
        method = as_method(self.method)
        if not method.is_ours or method.map_learner is None:
            raise invalid("method", method.label, "a method with our prior and learner", "pass `method='value'`.")
        return method.map_learner

    def _fitted(self) -> Self:
        check_is_fitted(self, "params_")
        return self

    def _decided(self, predictions: ArrayLike, votes: ArrayLike | None) -> BatchDecisions:
        """The decision on each item of a session with the learned parameters."""
        return self._decide(*self._items(predictions, votes), self.params_)

    def _answered(self, predictions: ArrayLike, votes: ArrayLike | None) -> BatchDecisions:
        """The same, but items without votes are answered as `Session.predict` does."""
        stacked, tally = self._items(predictions, votes)
        voted = tally.any(axis=-1)
        decisions = self._decide(stacked, tally, self.params_ if voted.any() else self.answer_params_)
        if voted.any() and not voted.all():
            alone = self._decide(stacked[~voted], tally[~voted], self.answer_params_)
            decisions.probs[~voted], decisions.labels[~voted] = alone.probs, alone.labels
        return decisions

    def _predictions(self, given: ArrayLike) -> FloatArray:
        """Probabilities (T, K) or (T, M, K): as given, or by the base classifier from features."""
        if self.estimator is None:
            return checked_predictions(given)
        return checked_predictions(base_predictions(self.estimator_, features_given(given), self.classes_))

    def _items(self, given: ArrayLike, votes: ArrayLike | None) -> tuple[FloatArray, IntArray]:
        """Predictions (T, M, K) and counts (T, K), checked."""
        fitted = self._fitted()
        probs = self._of_fitted_shape(self._predictions(given))
        tally = np.zeros((len(probs), probs.shape[-1]), dtype=np.int64)
        if votes is not None:
            tally = vote_counts(np.asarray(votes), fitted.classes_, len(probs))
        return probs if probs.ndim == 3 else probs[:, None], tally

    def _decide(self, predictions: FloatArray, votes: IntArray, params: PriorParams) -> BatchDecisions:
        return decide_items(as_method(self.method), params, predictions, votes, pool_size=self.pool_size_)[0]

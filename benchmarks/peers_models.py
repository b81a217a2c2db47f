"""cleanlab and crowd-kit as peers: votes so far -> a score of how sure each item is, and a label each.

Called by the loop of `peers_loop.py`. Both packages score a whole
batch at a time. Who voted is the annotator where the data name one (and the package can stand that many), else the
place in the asking order.
"""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
import pandas as pd
from cleanlab.multiannotator import (
    get_active_learning_scores,
    get_label_quality_multiannotator,
    get_majority_vote_label,
)
from crowdkit.aggregation import DawidSkene, OneCoinDawidSkene

MODEL = -1  # the classifier as one more worker


class CrowdLab:
    """CROWDLAB's label with the ActiveLab score, both as cleanlab recommends for active learning.

    Items without votes are scored by the classifier alone. cleanlab recommends `calibrate_probs=True` for this.
    """

    bars = (0.3, 0.4, 0.45, 0.5, 0.52, 0.55, 0.6, 0.65, 0.7, 0.8)
    labels_apart = True  # computed separately from the scores

    def __init__(self, case, *, by_person=False):
        self.case, self.workers = case, case.voters if by_person else None
        self.name = "cleanlab" + (", by person" if by_person else "")

    def scores(self, num):
        """(T,) ActiveLab: lowest asks first."""
        some, probs = num > 0, self.case.predictions
        labelled = (self._table(num), probs[some]) if some.any() else (None, None)
        with _quiet():
            known, unknown = get_active_learning_scores(*labelled, None if some.all() else probs[~some])
        scores = np.empty(len(num))
        scores[some], scores[~some] = known, unknown
        return scores

    def labels(self, num):
        """(T,) CROWDLAB's consensus; the classifier's top class for items without votes."""
        labels, some = self.case.predictions.argmax(axis=1), num > 0
        if some.any():
            labels[some] = consensus(self._table(num), self.case.predictions[some])
        return labels

    def _table(self, num):
        """(items with votes, workers who voted), NaN for none."""
        items, workers, labels = _long(self.case, num, self.workers)
        (rows, row), (columns, column) = (np.unique(each, return_inverse=True) for each in (items, workers))
        table = np.full((len(rows), len(columns)), np.nan)
        table[row, column] = labels
        return table


def consensus(table, probs):
    """CROWDLAB's labels of a table (items, workers), NaN for no vote, every item with one or more."""
    with _quiet():
        if (~np.isnan(table)).sum(axis=1).max() == 1:  # CROWDLAB wants at least one item with two votes
            return get_majority_vote_label(table, probs, verbose=False)
        options = {"return_detailed_quality": False, "return_annotator_stats": False, "verbose": False}
        found = get_label_quality_multiannotator(table, probs, calibrate_probs=True, **options)
    return found["label_quality"]["consensus_label"].to_numpy()


class CrowdKit:
    """crowd-kit's Dawid-Skene with default settings (at most 100 iterations); the score is its posterior.

    `one_coin`: its variant with one number per worker instead of a matrix, for workers with few votes. With the
    classifier, its top class is the vote of an additional worker. Items without votes come first; they are answered by
    the classifier, if it is used, or at random.
    """

    bars = (0.5, 0.7, 0.9, 0.97, 0.99, 0.999, 1 - 1e-4, 1 - 1e-6, 1 - 1e-9)
    labels_apart = False  # from the same fit as the scores

    def __init__(self, case, *, by_person=False, with_model=False, one_coin=False):
        self.case, self.with_model, self.kind = case, with_model, OneCoinDawidSkene if one_coin else DawidSkene
        self.workers = case.voters if by_person else None
        self.name = "crowd-kit one-coin" if one_coin else "crowd-kit"
        self.name += (", by person" if by_person else "") + (" + classifier" if with_model else "")
        self._fitted = (None, None)

    def scores(self, num):
        """(T,) probability of the most probable class; 0 for items without votes."""
        if not num.any():
            return np.zeros(len(num))
        return np.where(num > 0, self._posterior(num).max(axis=1), 0.0)

    def labels(self, num):
        """(T,) the most probable class; for items without votes the classifier's, or -1 without one."""
        labels = self.case.predictions.argmax(axis=1) if self.with_model else np.full(len(num), -1)
        return np.where(num > 0, self._posterior(num).argmax(axis=1), labels) if num.any() else labels

    def _posterior(self, num):
        if self._fitted[0] != num.tobytes():
            self._fitted = (num.tobytes(), self._fit(num))
        return self._fitted[1]

    def _fit(self, num):
        items, workers, labels = _long(self.case, num, self.workers)
        if self.with_model:
            every = np.arange(len(num))
            items, labels = np.append(items, every), np.append(labels, self.case.predictions.argmax(axis=1))
            workers = np.append(workers, np.full(len(num), MODEL))
        votes = pd.DataFrame({"task": items, "worker": workers, "label": labels})
        with _quiet():
            probs = self.kind().fit(votes).probas_
        return probs.reindex(index=range(len(num)), columns=range(self.case.num_classes), fill_value=0.0).to_numpy()


def _long(case, num, workers):
    """Votes cast so far: item, worker and label of each."""
    cast = np.arange(case.votes.shape[1]) < num[:, None]
    items, places = np.nonzero(cast)
    return items, places if workers is None else workers[cast].astype(int), case.votes[cast].astype(int)


@contextlib.contextmanager
def _quiet():
    """Suppress the warnings and prints of both packages about rare classes and single annotators."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield

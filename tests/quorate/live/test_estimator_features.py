"""The estimator around a scikit-learn classifier: X are features, and trust is learned on items left out."""

import numpy as np
import pytest

from quorate.live import ConsensusClassifier

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from tests.refusals import refused

FEATURES, TRUTH = make_classification(240, 6, n_informative=4, n_classes=3, class_sep=2.0, random_state=1)
NAMES = np.array(["cat", "dog", "owl"])
LABELS = NAMES[TRUTH]
RNG = np.random.default_rng(0)
VOTES = np.array([RNG.multinomial(4, 0.1 + 0.7 * np.eye(3)[k]) for k in TRUTH])
BASE = LogisticRegression()


@pytest.mark.filterwarnings("ignore")
def test_it_passes_check_estimator():
    found = check_estimator(ConsensusClassifier(estimator=GaussianNB()), on_fail=None, on_skip=None)
    assert [(each["check_name"], each["exception"]) for each in found if each["status"] == "failed"] == []
    assert sum(each["status"] == "passed" for each in found) > 40
    assert not any(each["expected_to_fail"] for each in found)


def test_it_is_the_plain_form_on_predictions_out_of_fold():
    model = ConsensusClassifier(estimator=BASE, classes=NAMES, cv=4).fit(FEATURES, VOTES)
    labels = NAMES[VOTES.argmax(axis=1)]
    left_out = cross_val_predict(BASE, FEATURES, labels, cv=4, method="predict_proba")
    plain = ConsensusClassifier(classes=NAMES).fit(left_out, VOTES)
    assert model.params_.theta == plain.params_.theta and model.pool_size_ == 4
    seen = np.minimum(VOTES, 1)
    known = clone(BASE).fit(FEATURES, labels).predict_proba(FEATURES)
    assert np.array_equal(model.predict_proba(FEATURES, seen), plain.predict_proba(known, seen))
    assert np.array_equal(model.asks(FEATURES, seen), plain.asks(known, seen))


def test_trust_is_not_learned_on_the_training_data():
    rng = np.random.default_rng(5)
    noise, labels = rng.normal(size=(200, 4)), rng.integers(2, size=200)
    tree = DecisionTreeClassifier(random_state=0)
    careful = ConsensusClassifier(estimator=tree, pool_size=3).fit(noise, labels)
    misled = ConsensusClassifier(estimator=FrozenEstimator(clone(tree).fit(noise, labels)), pool_size=3)
    misled.fit(noise, labels)
    new = rng.normal(size=(50, 4))
    assert careful.predict_proba(new).max() < 0.8 < misled.predict_proba(new).max()


def test_a_frozen_classifier_stays_as_it_is_and_may_know_its_own_order():
    fitted = clone(BASE).fit(FEATURES[:120], LABELS[:120])
    model = ConsensusClassifier(estimator=FrozenEstimator(fitted), classes=["owl", "dog", "cat"])
    few = model.fit(FEATURES[120:124], VOTES[120:124, ::-1])
    assert few.estimator_.estimator is fitted
    plain = ConsensusClassifier(classes=["owl", "dog", "cat"])
    plain.fit(fitted.predict_proba(FEATURES[120:124])[:, ::-1], VOTES[120:124, ::-1])
    assert model.params_.theta == plain.params_.theta
    assert clone(model).fit(FEATURES[120:], VOTES[120:, ::-1]).score(FEATURES[120:], VOTES[120:, ::-1]) > 0.5


def test_items_without_votes_are_left_out():
    some = VOTES.copy()
    some[::3] = 0
    voted = some.any(axis=1)
    left = ConsensusClassifier(estimator=BASE).fit(FEATURES, some)
    only = ConsensusClassifier(estimator=BASE).fit(FEATURES[voted], some[voted])
    assert left.params_.theta == only.params_.theta


def test_searches_pipelines_and_clones_reach_the_base_classifier():
    model = ConsensusClassifier(estimator=make_pipeline(StandardScaler(), BASE))
    search = GridSearchCV(model, {"estimator__logisticregression__C": [1e-4, 1.0], "method": ["value", "finexp"]}, cv=2)
    search.fit(FEATURES, LABELS)
    assert search.best_params_["estimator__logisticregression__C"] == 1.0
    assert clone(search.best_estimator_).get_params()["estimator__logisticregression__C"] == 1.0
    whole = make_pipeline(StandardScaler(), ConsensusClassifier(estimator=BASE))
    shares = cross_val_predict(whole, FEATURES, LABELS, cv=3, method="predict_proba")
    assert shares.shape == (240, 3) and np.allclose(shares.sum(axis=1), 1)
    assert np.mean(NAMES[shares.argmax(axis=1)] == LABELS) > 0.6


def test_more_items_teach_trust_and_leave_the_base_classifier():
    model = ConsensusClassifier(estimator=BASE).partial_fit(FEATURES[:120], LABELS[:120], classes=NAMES)
    base, theta = model.estimator_, model.params_.theta
    model.partial_fit(FEATURES[120:], LABELS[120:])
    assert model.estimator_ is base and model.params_.theta != theta


def test_a_class_without_items_is_never_certain_to_lose():
    two = LABELS != "owl"
    model = ConsensusClassifier(estimator=BASE, classes=NAMES).fit(FEATURES[two], LABELS[two])
    found = model.predict_proba(FEATURES)
    assert found.shape == (240, 3) and (found[:, 2] > 0).all() and found[:, 2].max() < 0.5


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: ConsensusClassifier(estimator=LinearSVC()).fit(FEATURES, LABELS), "estimator"),
        (lambda: ConsensusClassifier(estimator=BASE).fit(FEATURES, VOTES * 0), "votes"),
        (lambda: ConsensusClassifier(estimator=BASE).fit(FEATURES, VOTES[:9]), "votes"),
        (lambda: ConsensusClassifier(estimator=BASE, cv=ShuffleSplit(2)).fit(FEATURES, LABELS), "cv"),
        (
            lambda: ConsensusClassifier(estimator=FrozenEstimator(clone(BASE).fit(FEATURES, LABELS))).fit(
                FEATURES[:9], np.resize(["cat", "dog"], 9)
            ),
            "estimator",
        ),
    ],
)
def test_what_is_wrong_is_named(call, field):
    with refused(field):
        call()

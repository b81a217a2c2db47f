"""The estimator: agrees with fit and with a session, and behaves as scikit-learn expects where that is installed."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.exceptions import NotFittedError

import quorate
from quorate.datasets import synthetic
from quorate.live import ConsensusClassifier
from tests.refusals import refused

DATA = synthetic(num_items=60, num_classes=3, pool_size=5, accuracy=0.8, seed=2)
PREDICTIONS = DATA.predictions[0]
VOTES = np.stack([(DATA.votes == k).sum(axis=1) for k in range(3)], axis=1)


def test_fit_is_quorates_fit():
    model = ConsensusClassifier().fit(PREDICTIONS, VOTES)
    params, report = quorate.fit(PREDICTIONS, VOTES, bias=True, hyperprior="value")
    assert model.params_.theta == params.theta and model.report_.log_posterior == report.log_posterior
    assert model.pool_size_ == 5 and model.n_features_in_ == 3 and model.classes_.tolist() == [0, 1, 2]


def test_probabilities_are_the_exact_posterior_under_the_learned_prior():
    model = ConsensusClassifier(pool_size=7).fit(PREDICTIONS, VOTES)
    alpha = quorate.concentration(model.params_, PREDICTIONS)
    seen = np.minimum(VOTES, 1)
    expected = quorate.plurality_finite(alpha, seen, pool_size=7)
    assert np.allclose(model.predict_proba(PREDICTIONS, seen), expected, atol=1e-12)
    assert np.array_equal(model.predict(PREDICTIONS, seen), expected.argmax(axis=1))


def test_asks_until_the_pool_is_settled():
    model = ConsensusClassifier(quorate.method("value", error_cost=1e9)).fit(PREDICTIONS, VOTES)
    assert not model.asks(PREDICTIONS, VOTES).any()
    assert model.asks(PREDICTIONS).all()


def test_score_shares_ties_and_leaves_out_items_without_votes():
    model = ConsensusClassifier().fit(PREDICTIONS, VOTES)
    label = int(model.predict(PREDICTIONS[:1])[0])
    tied = np.zeros((3, 3), dtype=int)
    tied[0, [label, (label + 1) % 3]] = 2
    tied[1, label] = 1
    assert model.score(np.repeat(PREDICTIONS[:1], 3, axis=0), tied) == 0.75


def test_labels_are_taken_as_one_vote_each():
    labels = np.array(["a", "b", "c"])[VOTES.argmax(axis=1)]
    by_label = ConsensusClassifier().fit(PREDICTIONS, labels)
    by_count = ConsensusClassifier(classes=["a", "b", "c"]).fit(PREDICTIONS, np.eye(3)[VOTES.argmax(axis=1)])
    assert by_label.params_.theta == by_count.params_.theta
    assert by_label.classes_.tolist() == ["a", "b", "c"] and set(by_label.predict(PREDICTIONS)) <= {"a", "b", "c"}
    assert by_label.score(PREDICTIONS, labels) == np.mean(by_label.predict(PREDICTIONS) == labels)


def test_parameters_are_those_of_init_and_can_be_set():
    model = ConsensusClassifier("finexp", pool_size=4)
    given = {"method": "finexp", "classes": None, "pool_size": 4}
    assert model.get_params() == given | {"estimator": None, "cv": 5}
    assert model.set_params(method="infexp") is model and model.method == "infexp"


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: ConsensusClassifier("beta").fit(PREDICTIONS, VOTES), "method"),
        (lambda: ConsensusClassifier().fit(PREDICTIONS[0], VOTES), "predictions"),
        (lambda: ConsensusClassifier().fit(PREDICTIONS[:0], VOTES[:0]), "predictions"),
        (lambda: ConsensusClassifier().fit(PREDICTIONS, VOTES[:5]), "votes"),
        (lambda: ConsensusClassifier().fit(PREDICTIONS, ["a"] * 60), "classes"),
        (lambda: ConsensusClassifier(classes=["a", "b", "c"]).fit(PREDICTIONS, ["d"] * 60), "votes"),
        (lambda: ConsensusClassifier().fit(PREDICTIONS, VOTES).predict(PREDICTIONS[:, :2] * 0 + 0.5), "predictions"),
        (lambda: ConsensusClassifier().fit(PREDICTIONS, VOTES).score(PREDICTIONS, VOTES * 0), "votes"),
    ],
)
def test_what_is_wrong_is_named(call, field):
    with refused(field):
        call()


def test_scikit_learn_can_clone_it_and_search_over_it():
    from sklearn import base
    from sklearn.model_selection import GridSearchCV, cross_val_score

    model = ConsensusClassifier("finexp", classes=[0, 1, 2], pool_size=5)
    assert base.clone(model).get_params() == model.get_params()
    assert base.is_classifier(model)
    assert len(cross_val_score(model, PREDICTIONS, VOTES, cv=3)) == 3
    search = GridSearchCV(model, {"method": ["finexp", "infexp"]}, cv=2).fit(PREDICTIONS, VOTES.argmax(axis=1))
    assert search.best_params_["method"] in ("finexp", "infexp")


def test_learning_in_parts_ends_where_learning_at_once_does():
    at_once = ConsensusClassifier().fit(PREDICTIONS, VOTES)
    in_parts = ConsensusClassifier()
    for rows in np.array_split(np.arange(len(VOTES)), 4):
        in_parts.partial_fit(PREDICTIONS[rows], VOTES[rows])
    assert in_parts.params_.theta == pytest.approx(at_once.params_.theta, rel=1e-3)
    assert np.allclose(in_parts.predict_proba(PREDICTIONS), at_once.predict_proba(PREDICTIONS), atol=1e-3)
    assert in_parts.pool_size_ == at_once.pool_size_


def test_labels_in_parts_need_the_classes_once():
    model = ConsensusClassifier().partial_fit(PREDICTIONS[:1], ["b"], classes=["a", "b", "c"])
    model.partial_fit(PREDICTIONS[1:3], ["a", "c"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    with refused("classes"):
        ConsensusClassifier().partial_fit(PREDICTIONS[:1], ["b"])


def test_the_window_forgets_the_oldest_items():
    model = ConsensusClassifier("value:window=10")
    model.partial_fit(PREDICTIONS, VOTES)
    recent = ConsensusClassifier().fit(PREDICTIONS[-10:], VOTES[-10:])
    assert model.params_.theta == pytest.approx(recent.params_.theta, rel=1e-3)


def test_items_without_votes_are_answered_by_careful_parameters():
    rng = np.random.default_rng(3)
    predictions = rng.dirichlet(np.ones(3), size=80)
    votes = np.array([rng.multinomial(3, row) for row in predictions])
    model = ConsensusClassifier(pool_size=5).fit(predictions, votes)
    assert np.ptp(model.answer_params_.tau) < np.ptp(model.params_.tau)
    alone, mixed = np.zeros((2, 3), dtype=int), np.array([[0, 0, 0], [1, 0, 0]])
    found = model.predict_proba(predictions[:2], mixed)
    np.testing.assert_array_equal(found[0], model.predict_proba(predictions[:2], alone)[0])
    alpha = quorate.concentration(model.params_, predictions[1])
    np.testing.assert_allclose(found[1], quorate.plurality_finite(alpha, mixed[1], pool_size=5), atol=1e-12)
    paper = ConsensusClassifier("finexp", pool_size=5).fit(predictions, votes)
    assert paper.answer_params_ is paper.params_


def test_order_copies_and_memory_layout_change_nothing():
    import pickle

    labels = VOTES.argmax(axis=1)
    model = ConsensusClassifier().fit(PREDICTIONS, labels)
    given, order = dict(model.__dict__), np.random.default_rng(0).permutation(len(labels))
    found = model.predict_proba(PREDICTIONS)
    assert model.__dict__.keys() == given.keys()
    assert np.array_equal(model.predict_proba(PREDICTIONS[order]), found[order])
    assert np.array_equal(np.concatenate([model.predict_proba(row[None]) for row in PREDICTIONS]), found)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(PREDICTIONS), found)
    assert np.array_equal(model.fit(PREDICTIONS, labels).predict_proba(PREDICTIONS), found)
    for order_of_memory in ("C", "F"):
        read_only = np.array(PREDICTIONS, order=order_of_memory)
        read_only.flags.writeable = False
        assert np.array_equal(ConsensusClassifier().fit(read_only, labels).predict_proba(read_only), found)


def test_before_fitting_it_raises_the_error_scikit_learn_knows():
    with pytest.raises(NotFittedError):
        ConsensusClassifier().predict(PREDICTIONS)


@pytest.mark.parametrize(
    ("predictions", "votes", "field"),
    [
        (PREDICTIONS, None, "votes"),
        (PREDICTIONS, np.linspace(0.1, 0.9, 60), "votes"),
        (PREDICTIONS.astype(complex), VOTES, "predictions"),
        (PREDICTIONS[:, :1], VOTES, "predictions"),
        (PREDICTIONS - 0.5, VOTES, "predictions"),
    ],
)
def test_data_that_no_classifier_takes_is_refused(predictions, votes, field):
    with refused(field):
        ConsensusClassifier().fit(predictions, votes)


def test_a_column_of_labels_per_expert_is_not_read_as_counts():
    labels = np.array([[0, 2, 2], [1, 1, 1], [2, 2, 1]])  # three experts, three classes
    with refused("votes"):
        ConsensusClassifier(pool_size=3).fit(PREDICTIONS[:3], labels)

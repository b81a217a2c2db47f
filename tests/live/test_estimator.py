"""The estimator: agrees with fit and with a session, and behaves as scikit-learn expects where that is installed."""

import numpy as np
import pytest

import quorate
from quorate.datasets import synthetic
from quorate.errors import InvalidInput
from quorate.live import ConsensusClassifier

DATA = synthetic(num_items=60, num_classes=3, pool_size=5, accuracy=0.8, seed=2)
PREDICTIONS = DATA.predictions[0]
VOTES = np.stack([(DATA.votes == k).sum(axis=1) for k in range(3)], axis=1)


def test_fit_is_quorates_fit():
    model = ConsensusClassifier().fit(PREDICTIONS, VOTES)
    params, report = quorate.fit(PREDICTIONS, VOTES, bias=True)
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
    model = ConsensusClassifier(quorate.method("quorate", min_gain=0.0)).fit(PREDICTIONS, VOTES)
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


def test_several_classifiers_are_fused():
    both = np.stack([PREDICTIONS, PREDICTIONS[:, ::-1]], axis=1)
    model = ConsensusClassifier().fit(both, VOTES)
    assert model.params_.num_classifiers == 2 and model.predict_proba(both).shape == (60, 3)


def test_parameters_are_those_of_init_and_can_be_set():
    model = ConsensusClassifier("finexp", pool_size=4)
    assert model.get_params() == {"method": "finexp", "classes": None, "pool_size": 4}
    assert model.set_params(method="infexp") is model and model.method == "infexp"
    assert repr(model) == "ConsensusClassifier(method='infexp', classes=None, pool_size=4)"
    with pytest.raises(InvalidInput) as caught:
        model.set_params(threshold=0.9)
    assert (caught.value.field, caught.value.value) == ("threshold", 0.9)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: ConsensusClassifier().predict(PREDICTIONS), "self"),
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
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.field == field


def test_scikit_learn_can_clone_it_and_search_over_it():
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    from sklearn.model_selection import GridSearchCV, cross_val_score

    model = ConsensusClassifier("finexp", classes=[0, 1, 2], pool_size=5)
    assert base.clone(model).get_params() == model.get_params()
    assert base.is_classifier(model)
    assert len(cross_val_score(model, PREDICTIONS, VOTES, cv=3)) == 3
    search = GridSearchCV(model, {"method": ["finexp", "infexp"]}, cv=2).fit(PREDICTIONS, VOTES.argmax(axis=1))
    assert search.best_params_["method"] in ("finexp", "infexp")

"""`rate_experts`, `agreement` and `quorate experts`: tables in, people out."""

import json

import numpy as np
import pandas as pd
import pytest

import quorate
from quorate.commands.experts.report import write_experts
from quorate.datasets import vote_dataset
from quorate.errors import InvalidInput
from tests.quorate.people.test_quality import crowd
from tests.refusals import refused

CLASSES = np.array(["cat", "dog", "fox"])


@pytest.fixture(scope="module")
def table():
    """Votes of six people and one who always says dog, a second apart; true classes of the first 30 items."""
    _, truth, votes = crowd(0, num_items=60)
    votes = np.column_stack([votes, np.full(60, 1)])
    item, person = np.divmod(np.arange(votes.size), votes.shape[1])
    votes = pd.DataFrame(
        {
            "item": [f"i{number}" for number in item],
            "annotator": [f"p{number}" for number in person],
            "label": CLASSES[votes.ravel()],
            "timestamp": pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(3 * item + person / 10, unit="s"),
        }
    )
    return votes, pd.DataFrame({"item": [f"i{number}" for number in range(30)], "truth": CLASSES[truth[:30]]})


def read(path):
    return pd.read_csv(path, dtype=str).to_dict("records")


@pytest.fixture(scope="module")
def found(table):
    return quorate.rate_experts(table[0], truth=table[1], bootstraps=50)


def test_everybody_is_rated(found):
    assert [each.quality.person for each in found.people] == [f"p{number}" for number in range(7)]
    assert [each.quality.person for each in found.careless] == ["p6"]
    assert found.people[0].quality.num_known == 30


def test_known_classes_calibrate_the_scores(table, found):
    assert found.confidence is not None and np.all((found.confidence > 0) & (found.confidence <= 1))
    assert quorate.rate_experts(table[0], bootstraps=50).confidence is None


def test_files_hold_what_was_found(found, tmp_path):
    files = {path.name for path in write_experts(found, tmp_path / "out")}
    assert files == {"report.html", "people.csv", "confusion.csv", "pairs.csv", "consensus.csv", "summary.json"}
    people = read(tmp_path / "out" / "people.csv")
    assert [row["person"] for row in people] == [each.quality.person for each in found.people]
    assert "dog" in people[6]["difference"] and found.summary()["differences"]["p6"] == people[6]["difference"]
    differs = found.people[6].difference
    assert people[6]["difference_label"] == differs.label == "dog"
    assert float(people[6]["difference_share"]) == pytest.approx(differs.share, rel=1e-5)
    assert float(people[6]["difference_share_of_others"]) == pytest.approx(differs.share_of_others, rel=1e-5)
    assert f"{100 * differs.share:.0f} %" in people[6]["difference"]
    gaps = [abs(each.share - each.share_of_others) for _, each in found.differing]
    assert gaps == sorted(gaps, reverse=True) and found.differing[0] == ("p6", differs)
    assert float(people[0]["accuracy"]) == pytest.approx(found.people[0].quality.accuracy.value, rel=1e-5)
    consensus = read(tmp_path / "out" / "consensus.csv")
    assert [row["label"] for row in consensus] == [found.ballots.classes[k] for k in found.labels]
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["careless"] == ["p6"]
    with pytest.raises(InvalidInput):
        write_experts(found, tmp_path / "out")


def test_a_matrix_is_as_good_as_a_table():
    _, _, votes = crowd(0, num_items=60)
    found = quorate.agreement(votes, bootstraps=50)
    assert [each.person for each in found.people] == [str(number) for number in range(6)]
    assert found.num_votes == 360


def test_votes_without_voters_and_gold_without_votes_are_refused(table):
    votes, truth = table
    with refused("worker"):
        quorate.rate_experts(votes.drop(columns="annotator"))
    with refused("truth"):
        quorate.rate_experts(votes, truth=truth.assign(item="other"))


def test_a_data_set_with_voters_is_as_good_as_a_table():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=50)
    votes = np.where(rng.random((50, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    named = vote_dataset(votes, np.full((1, 50, 2), 0.5), classes=["0", "1"], voters=np.tile(np.arange(3), (50, 1)))
    one, other = (quorate.rate_experts(each, bootstraps=20) for each in (named, votes))
    for mine, theirs in zip(one.people, other.people, strict=True):
        assert (mine.quality.person, mine.with_others) == (theirs.quality.person, theirs.with_others)
        assert mine.quality.accuracy.value == pytest.approx(theirs.quality.accuracy.value)


def clique(num_items=180, num_known=60):
    """Three people right on 45 % who share their errors, two on 78 %; the true classes, and a table of some of them."""
    rng = np.random.default_rng(1)
    truth, draws = rng.integers(4, size=(num_items, 1)), rng.random((num_items, 5))
    guess, is_shared = rng.integers(4, size=(num_items, 5)), rng.random((num_items, 1)) < 0.55
    alone = np.where(draws < 0.7, truth, guess)
    together = np.where(draws < 0.9, np.where(is_shared, (truth + 1 + guess[:, :1] % 3) % 4, truth), guess)
    votes = np.concatenate([together[:, :3], alone[:, 3:]], axis=1)
    item, person = np.divmod(np.arange(votes.size), 5)
    columns = {"item": item, "worker": person, "label": votes.ravel()}
    table = pd.DataFrame({name: [f"{name[0]}{n}" for n in cells] for name, cells in columns.items()})
    known = {f"i{n}": f"l{k}" for n, k in enumerate(truth[:, 0])}
    gold = pd.DataFrame(list(known.items())[:num_known], columns=["item", "truth"])
    return table, gold, known


def share_right(labels, truth, gold):
    """Of the items whose true class was not given."""
    return np.mean([label == truth[item] for item, label in labels.items() if item not in set(gold["item"])])


@pytest.mark.parametrize("order", [None, 1, 2])
def test_known_items_teach_who_is_good_in_any_order_of_the_rows(order):
    votes, gold, truth = clique()
    votes = votes if order is None else votes.sample(frac=1, random_state=order)
    found = quorate.rate_experts(votes, truth=gold, bootstraps=20)
    assert not found.doubt and {each.quality.person for each in found.ranked(5)[:2]} == {"w3", "w4"}
    labels = [found.ballots.classes[k] for k in found.labels]
    assert share_right(dict(zip(found.ballots.items, labels, strict=True)), truth, gold) > 0.65
    blind = quorate.rate_experts(votes, truth=gold[:10], bootstraps=20)
    assert "10 items" in blind.doubt and {each.quality.person for each in blind.ranked(5)[:3]} == {"w0", "w1", "w2"}


def test_a_run_towards_the_truth_learns_from_known_items():
    votes, gold, truth = clique(num_known=90)
    right = []
    for order in range(3):
        decided = quorate.run(votes.sample(frac=1, random_state=order), target="truth", truth=gold).decisions
        labels = dict(zip(decided["item"], decided["consensus_label"], strict=True))
        right.append(share_right(dict(list(labels.items())[80:]), truth, gold))
    assert min(right) > 0.58, "the plurality is right on less than half"

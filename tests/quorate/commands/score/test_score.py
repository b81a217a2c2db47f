"""Scores of whole tables: the same numbers whatever the format, the batch or the machines; dirt counted; order kept."""

import csv
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import quorate
from quorate.commands import dask_cluster
from quorate.commands import score as workflow
from quorate.commands.params_file import ParamsFile, write_params
from quorate.commands.score import score
from quorate.errors import ClusterError, InvalidInput
from quorate.methods.encoding import method_data
from quorate.session.batch import decider
from quorate.types import PriorParams
from tests.refusals import refused

CLASSES = ("cat", "dog", "owl")
POOL, COUNT = 9, 500


def params(*, method="value", models=("net",), pool_size=POOL):
    chosen = quorate.method(method)
    tau = np.linspace(0.5, 1.5, 3 * len(models)).reshape(len(models), 3)
    prior = PriorParams(4.0, 0.3, tau[0] if len(models) == 1 else tau, [0.1, 0.0, -0.2])
    return ParamsFile(prior, CLASSES, models, method_data(chosen), pool_size, 10)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Predictions of two models and votes of the same items, as Parquet, in the same order."""
    folder = tmp_path_factory.mktemp("score")
    rng = np.random.default_rng(3)
    ids = [f"item-{number}" for number in range(COUNT)]
    probs = rng.dirichlet(np.full(3, 0.5), size=(2, COUNT))
    votes = np.array([rng.multinomial(rng.integers(0, 4), row) for row in probs[0]])
    for number in range(2):
        table(folder / f"net{number}.parquet", ids, probs[number])
    table(folder / "counts.parquet", ids, votes)
    return folder, ids, probs, votes


def table(path, ids, values, classes=CLASSES):
    columns = {"id": ids} | {name: values[:, k] for k, name in enumerate(classes)}
    if path.suffix == ".csv":
        arrow_csv.write_csv(pa.table(columns), path)
    else:
        pq.write_table(pa.table(columns), path, row_group_size=77)
    return path


def long_votes(path, ids, votes, order=None):
    rows = [(item, f"w{n}", CLASSES[k]) for item, row in zip(ids, votes, strict=True)
            for n, k in enumerate(np.repeat(np.arange(3), row))]  # fmt: skip
    rows = rows if order is None else [rows[each] for each in order(len(rows))]
    with path.open("w", newline="") as text:
        csv.writer(text).writerows([("task", "worker", "label"), *rows])
    return path


def read(path):
    found = arrow_csv.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)
    return found.to_pydict()


def test_every_item_has_its_posterior_in_the_order_of_the_predictions(data, tmp_path):
    folder, ids, probs, votes = data
    out = tmp_path / "scores.parquet"
    found = score(params(), folder / "net0.parquet", votes=folder / "counts.parquet", out=out)
    rows = read(out)
    how = decider(quorate.method("value"), params().params, POOL)
    expected = how.decide(probs[0][:, None], votes)
    assert list(rows) == ["item", "consensus_label", "confidence", "num_votes", "ask", "reason", *(f"prob_{name}" for name in CLASSES)]  # noqa: E501  # fmt: skip
    assert rows["item"] == ids and rows["num_votes"] == votes.sum(axis=1).tolist()
    np.testing.assert_allclose(np.column_stack([rows[f"prob_{name}"] for name in CLASSES]), expected.probs, atol=1e-12)
    assert rows["consensus_label"] == [CLASSES[k] for k in expected.labels]
    assert rows["confidence"] == [max(each) for each in zip(*(rows[f"prob_{name}"] for name in CLASSES), strict=True)]
    assert rows["ask"] == [reason == "ask" for reason in rows["reason"]]
    assert (found.num_items, found.num_votes, found.num_ask) == (COUNT, votes.sum(), sum(rows["ask"]))
    doubt = [1 - sure for sure, ask in zip(rows["confidence"], rows["ask"], strict=True) if not ask]
    assert found.expected_errors == pytest.approx(sum(doubt))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_do_not_depend_on_the_batch_and_files_are_the_same_twice(data, tmp_path, ending, monkeypatch):
    folder = data[0]
    sources = {"votes": folder / "counts.parquet"}
    outs = [tmp_path / f"{number}.{ending}" for number in range(3)]
    for out, rows in zip(outs, (7, 50_000, 50_000), strict=True):
        monkeypatch.setattr(workflow, "BATCH_ROWS", rows)
        score(params(), folder / "net0.parquet", **sources, out=out)
    assert read(outs[0]) == read(outs[1])
    assert outs[1].read_bytes() == outs[2].read_bytes()
    if ending == "csv":
        assert outs[0].read_bytes() == outs[1].read_bytes()
    else:
        assert pq.ParquetFile(outs[0]).num_row_groups == -(-COUNT // 7)


def test_formats_of_predictions_give_the_same_scores(data, tmp_path):
    folder, ids, probs, _ = data
    np.save(tmp_path / "net.npy", probs[0])
    np.savez(tmp_path / "net.npz", probs=probs[0], ids=np.array(ids), classes=np.array(CLASSES))
    shuffled = table(tmp_path / "net.csv", ids, probs[0][:, [2, 0, 1]], classes=("owl", "cat", "dog"))
    sources = [folder / "net0.parquet", shuffled, tmp_path / "net.npz", tmp_path / "net.npy", probs[0]]
    found = []
    for number, source in enumerate(sources):
        out = tmp_path / f"{number}.parquet"
        score(params(), source, out=out)
        found.append(read(out))
    assert found[0] == found[1] == found[2]
    assert found[3] == found[4] == found[0] | {"item": [str(number) for number in range(COUNT)]}


def test_long_votes_count_as_their_counts_do_in_any_order(data, tmp_path):
    folder, ids, _, votes = data
    mixed = long_votes(tmp_path / "mixed.csv", ids, votes, order=np.random.default_rng(1).permutation)
    outs = [tmp_path / f"{number}.parquet" for number in range(2)]
    net = folder / "net0.parquet"
    score(params(), net, votes=folder / "counts.parquet", out=outs[0])
    score(params(), net, votes=mixed, out=outs[1])
    assert read(outs[0]) == read(outs[1])


def test_a_worker_who_votes_twice_counts_once(data, tmp_path):
    net = data[0] / "net0.parquet"
    path = tmp_path / "votes.csv"
    rows = [("item-0", "a", "cat"), ("item-0", "a", "cat"), ("item-3", "a", "cat"), ("item-3", "a", "dog")]
    with path.open("w", newline="") as text:
        csv.writer(text).writerows([("task", "worker", "label"), *rows, ("item-4", "b", "cow")])
    out = tmp_path / "out.parquet"
    found = score(params(), net, votes=path, out=out)
    assert read(out)["num_votes"][:5] == [1, 0, 0, 1, 0]
    assert [(each.rule, each.count) for each in found.report.findings] == [
        ("unknown-label", 1), ("duplicate", 2)]  # fmt: skip
    assert found.rejects == str(tmp_path / "out.rejects.csv")
    assert sorted(read(tmp_path / "out.rejects.csv")["row"]) == [3, 4, 6]


def test_two_models_are_matched_by_name_or_order_and_fused(data, tmp_path):
    folder, ids, probs, _ = data
    both = params(models=("net0", "net1"))
    outs = [tmp_path / f"{number}.parquet" for number in range(3)]
    files = [folder / "net0.parquet", folder / "net1.parquet"]
    score(both, files, out=outs[0])
    score(both, files[::-1], out=outs[1])
    order = np.random.default_rng(2).permutation(COUNT)
    other = table(tmp_path / "net1.parquet", [ids[each] for each in order], probs[1][order])
    score(both, probs, out=outs[2])
    assert read(outs[0]) == read(outs[1]) == read(outs[2]) | {"item": ids}
    expected = decider(quorate.method("value"), both.params, POOL).decide(probs.transpose(1, 0, 2), np.zeros((COUNT, 3), int))  # noqa: E501  # fmt: skip
    np.testing.assert_allclose(read(outs[0])["confidence"], expected.probs.max(axis=1), atol=1e-12)
    with refused("predictions"):
        score(both, files[0], out=tmp_path / "no.csv")
    with refused("predictions") as caught:
        score(both, [files[0], other], out=tmp_path / "no.csv")
    assert "sort" in caught.value.fix


def test_an_item_without_a_prediction_of_one_model_has_all_classes_alike_there(data, tmp_path):
    folder, ids, probs, _ = data
    some = table(tmp_path / "net1.parquet", ids[:100], probs[1][:100])
    full = probs[1].copy()
    full[100:] = 1 / 3
    (tmp_path / "full").mkdir()
    every = table(tmp_path / "full" / "net1.parquet", ids, full)
    both = params(models=("net0", "net1"))
    for number, each in enumerate((some, every)):
        score(both, [folder / "net0.parquet", each], out=tmp_path / f"{number}.csv")
    assert read(tmp_path / "0.csv") == read(tmp_path / "1.csv")


def test_dirty_predictions_are_counted_set_aside(tmp_path, monkeypatch):
    monkeypatch.setattr(workflow, "BATCH_ROWS", 2)
    path = tmp_path / "net.csv"
    path.write_text(
        "id,cat,dog,owl,weight\na,0.5,0.3,0.18,1\nb,,,,1\nc,-1,1,1,1\n,1,0,0,1\nd,0.2,0.2,0.2,1\ne,1,0,0,1\n"
    )
    found = score(params(), path, out=tmp_path / "out.csv")
    rows = read(tmp_path / "out.csv")
    assert rows["item"] == ["a", "b", "c", "d", "e"]
    counts = {each.rule: each.count for each in found.report.findings}
    assert counts == {"no-item": 1, "ignored-column": 1, "rounded": 1, "bad-number": 2, "no-answer": 1}  # fmt: skip
    assert sorted(read(tmp_path / "out.rejects.csv")["row"]) == [3, 4, 5, 6]
    uniform = decider(quorate.method("value"), params().params, POOL).decide(np.full((1, 1, 3), 1 / 3), np.zeros((1, 3), int))  # noqa: E501  # fmt: skip
    assert rows["confidence"][1] == rows["confidence"][3] == pytest.approx(uniform.probs.max())
    path.write_text("id,cat,dog,owl\na,0.5,0.3,0.2\n")
    score(params(), path, out=tmp_path / "out.csv")
    assert not (tmp_path / "out.rejects.csv").exists()


def test_mistakes_are_named(data, tmp_path):
    folder, ids, _, votes = data
    net = folder / "net0.parquet"
    many = table(tmp_path / "counts.csv", ids[:1], np.array([[9, 9, 0]]))
    with refused("pool_size"):
        score(params(), net, votes=many, out=tmp_path / "no.csv")
    assert score(params(), net, votes=many, out=tmp_path / "yes.csv", pool_size=18).num_votes == 18
    with refused("out"):
        score(params(), net, out=tmp_path / "no.xls")
    with refused("method"):
        score(params(method="random"), net, out=tmp_path / "no.csv")
    with refused("classes"):
        score(params(), np.ones((3, 5)) / 5, out=tmp_path / "no.csv")
    stranger = table(tmp_path / "strange.csv", ["x"], votes[:1] * 0 + 1)
    with refused("votes") as caught:
        score(params(), net, votes=stranger, out=tmp_path / "no.csv")
    assert "sort" in caught.value.fix
    assert not list(tmp_path.glob("no.*"))


def test_an_item_is_scored_once_however_far_apart_its_rows_are(tmp_path, monkeypatch):
    path = tmp_path / "net.csv"
    path.write_text("id,cat,dog,owl\n1,1,0,0\n2,0,1,0\n1.0,0,1,0\n3,0,0,1\n2,1,0,0\n2,0,0,1\n")
    for rows in (1, 2, 50):
        monkeypatch.setattr(workflow, "BATCH_ROWS", rows)
        found = score(params(), path, out=tmp_path / "out.csv")
        assert read(tmp_path / "out.csv")["item"] == [1, 2, 3]
        assert read(tmp_path / "out.csv")["consensus_label"] == list(CLASSES)
        assert found.report.count("duplicate") == 3
        assert sorted(read(tmp_path / "out.rejects.csv")["row"]) == [4, 6, 7]


def test_rows_of_an_array_are_never_matched_by_place_unless_all_are(data, tmp_path):
    folder, _, probs, _ = data
    np.save(tmp_path / "net.npy", probs[0])
    out = tmp_path / "out.parquet"
    with refused("predictions") as caught:
        score(params(), tmp_path / "net.npy", votes=folder / "counts.parquet", out=out)
    assert ".npz" in caught.value.fix
    with refused("predictions"):
        score(params(models=("a", "b")), [probs[0], folder / "net1.parquet"], out=out)
    with refused("predictions"):
        score(params(models=("a", "b")), [probs[0], probs[1][:400]], out=out)


def test_limits_and_costs_of_the_run_hold_for_the_scores(data, tmp_path):
    sources = {"predictions": data[0] / "net0.parquet", "votes": data[0] / "counts.parquet"}
    known = params(method="finexp")
    score(known, **sources, out=tmp_path / "plain.parquet")
    score(replace(known, min_votes=2, max_votes=2), **sources, out=tmp_path / "limits.parquet")
    plain, limits = read(tmp_path / "plain.parquet"), read(tmp_path / "limits.parquet")
    assert {reason for reason, n in zip(limits["reason"], limits["num_votes"], strict=True) if n < 2} == {"ask"}
    assert {reason for reason, n in zip(limits["reason"], limits["num_votes"], strict=True) if n >= 2} == {"quota"}
    assert len({reason for reason, n in zip(plain["reason"], plain["num_votes"], strict=True) if n < 2}) > 1
    costs = 200 * np.array([[0.0, 1, 1], [1, 0, 1], [50, 50, 0]])  # an owl must not be missed
    score(known, **sources, error_cost=costs, out=tmp_path / "costs.parquet")
    weighed = read(tmp_path / "costs.parquet")
    probs = np.column_stack([weighed[f"prob_{name}"] for name in CLASSES])
    assert weighed["consensus_label"] == [CLASSES[k] for k in (probs @ costs).argmin(axis=1)]
    assert weighed["consensus_label"].count("owl") > plain["consensus_label"].count("owl")
    assert sum(weighed["ask"]) > sum(plain["ask"])


def test_votes_are_read_as_the_options_and_the_params_say(data, tmp_path):
    net = data[0] / "net0.parquet"
    path = tmp_path / "votes.csv"
    path.write_text("label,who,said\nitem-0,a,cat\nitem-0,b,NA\nitem-2,a,Dog\n")
    named = {"task": "label", "worker": "who", "label": "said", "format": "long"}
    out = tmp_path / "out.parquet"
    found = score(replace(params(), abstain_labels=("na",)), net, votes=path, out=out, **named)
    assert read(out)["num_votes"][:3] == [1, 0, 1]
    assert found.report.count("no-answer") == 1 and found.report.count("unknown-label") == 0
    assert any("item 'label', label 'said', worker 'who'" in line for line in found.report.decisions)


def test_votes_of_other_items_and_numbers_that_are_no_probabilities_are_caught(data, tmp_path):
    folder, ids, probs, votes = data
    others = long_votes(tmp_path / "others.csv", [f"x{item}" for item in ids], votes)
    with refused("predictions"):
        score(params(), folder / "net0.parquet", votes=others, out=tmp_path / "no.csv")
    other = tmp_path / "other.csv"
    other.write_text(
        "task,worker,label\n" + "".join(f"{item},w,{'cat' if n < 5 else 'cow'}\n" for n, item in enumerate(ids))
    )
    (warning,) = score(params(), folder / "net0.parquet", votes=other, out=tmp_path / "yes.csv").report.warnings
    assert warning.startswith("495 rows of other.csv are set aside and 5 votes are left")
    percent = table(tmp_path / "percent.csv", ids, 100 * probs[0])
    with pytest.raises(InvalidInput, match=r"0 of 500 rows.*percentages.*divide them by 100"):
        score(params(), percent, out=tmp_path / "no.csv")
    assert not list(tmp_path.glob("no.*"))


def test_until_what_was_learned_is_proved_the_classifier_answers_items_without_votes(data, tmp_path):
    folder, _, probs, votes = data
    tables = {"votes": folder / "counts.parquet"}
    proved, unproved = params(), replace(params(), answers_proved=False)
    learned, alone = (
        score(each, folder / "net0.parquet", out=tmp_path / f"{number}.parquet", **tables)
        and pq.read_table(tmp_path / f"{number}.parquet").to_pandas()
        for number, each in enumerate((proved, unproved))
    )
    voted = votes.any(axis=1)
    assert learned[voted].equals(alone[voted]) and 0 < voted.sum() < COUNT
    assert (learned["ask"] == alone["ask"]).all()
    most_probable = np.array(CLASSES)[probs[0].argmax(axis=1)]
    assert (alone["consensus_label"][~voted] == most_probable[~voted]).all()
    assert (learned["consensus_label"][~voted] != most_probable[~voted]).any()


def test_frames_and_a_params_file_are_taken_too(data, tmp_path):
    folder = data[0]
    path = write_params(
        tmp_path / "params.json", params().params, classes=CLASSES, models=("net",), method=quorate.method("value"),
        pool_size=POOL, fitted_after=3,
    )  # fmt: skip
    frames = pq.read_table(folder / "net0.parquet").to_pandas(), pq.read_table(folder / "counts.parquet").to_pandas()
    score(path, frames[0], votes=frames[1], out=tmp_path / "a.parquet")
    score(params(), folder / "net0.parquet", votes=folder / "counts.parquet", out=tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_ids_are_written_as_a_run_writes_them(tmp_path):
    probs = table(tmp_path / "probs.csv", ["20813.0", "7"], np.full((2, 3), 1 / 3))
    found = score(params(), probs, out=tmp_path / "scores.csv")
    assert [str(each) for each in found.table.column("item").to_pylist()] == ["20813", "7"]


def test_a_cluster_writes_the_same_bytes(data, tmp_path, monkeypatch):
    monkeypatch.setattr(workflow, "BATCH_ROWS", 40)
    folder = data[0]
    for name, cluster in (("here", None), ("there", "local:2")):
        score(
            params(), folder / "net0.parquet", votes=folder / "counts.parquet", out=tmp_path / f"{name}.parquet",
            cluster=cluster,
        )  # fmt: skip
    assert (tmp_path / "here.parquet").read_bytes() == (tmp_path / "there.parquet").read_bytes()


def test_a_cluster_that_is_not_there_is_told(data, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_cluster, "ANSWER_WITHIN", 1.0)
    with refused("cluster"):
        score(params(), data[0] / "net0.parquet", out=tmp_path / "no.csv", cluster="here")
    with refused("cluster", ClusterError):
        score(params(), data[0] / "net0.parquet", out=tmp_path / "no.csv", cluster="tcp://127.0.0.1:9")
    assert not list(tmp_path.glob("no.*"))


@pytest.mark.parametrize("kind", ["long", "counts", None])
@pytest.mark.parametrize("batch_rows", [7, 1000])
def test_ids_and_labels_of_frames_are_written_in_their_own_types(tmp_path, kind, batch_rows, monkeypatch):
    monkeypatch.setattr(workflow, "BATCH_ROWS", batch_rows)
    rng = np.random.default_rng(4)
    ids, probs = np.arange(100, 130), rng.dirichlet(np.ones(3), 30)
    said = probs.argmax(axis=1)
    votes = {
        None: None,
        "long": pd.DataFrame({"item": np.repeat(ids, 2), "worker": np.tile(["a", "b"], 30), "label": said.repeat(2)}),
        "counts": pd.DataFrame(2 * np.eye(3, dtype=int)[said], columns=[0, 1, 2], index=pd.Index(ids, name="item")),
    }[kind]
    learned = replace(params(), classes=("0", "1", "2"))
    predictions = pd.DataFrame(probs, columns=[0, 1, 2], index=pd.Index(ids, name="item"))
    score(learned, predictions, votes=votes, out=tmp_path / "s.parquet")
    found = pq.read_table(tmp_path / "s.parquet")
    assert found.schema.field("item").type == found.schema.field("consensus_label").type == pa.int64()
    answers = np.stack([found[f"prob_{k}"] for k in range(3)]).argmax(axis=0)
    assert found["item"].to_pylist() == ids.tolist() and found["consensus_label"].to_pylist() == answers.tolist()
    assert sum(found["num_votes"].to_pylist()) == (0 if votes is None else 60)

"""Tables that are read as something they are not: the command says so and what to do, and prints no figure."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.quorate.tables.writing import write_csv

NUM_ITEMS, CLASSES = 40, ("cat", "dog")
WORKERS = ("ann", "bob", "cy")


@pytest.fixture(scope="module")
def votes():
    """Item, worker and label: three votes on each of 40 items, that agree as a rule."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, NUM_ITEMS)
    wrong = rng.random((NUM_ITEMS, 3)) < 0.15
    return [(f"p{t}", who, CLASSES[truth[t] ^ wrong[t, w]]) for t in range(NUM_ITEMS) for w, who in enumerate(WORKERS)]


@pytest.fixture(scope="module")
def probs():
    sure = np.random.default_rng(1).uniform(0.05, 0.95, NUM_ITEMS).round(3)
    return [(f"p{t}", p, round(1 - p, 3)) for t, p in enumerate(sure.tolist())]


@pytest.fixture
def files(tmp_path, votes, probs):
    """Writes the two tables, changed or not, and gives the options."""

    def made(votes_head=("item", "worker", "label"), votes_rows=votes, probs_head=("item", *CLASSES), probs_rows=probs):
        one = write_csv(tmp_path / "votes.csv", votes_head, votes_rows)
        two = write_csv(tmp_path / "probs.csv", probs_head, probs_rows)
        return ("--votes", one, "--predictions", two, "--out", tmp_path / "out")

    return made


def changed(probs, change):
    return [(item, *change(np.array(row))) for item, *row in probs]


def refused(run, options, *words, command="run"):
    done = run(command, *options)
    assert done.exit_code == 1, done.stdout
    assert done.stdout == "" and done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr, done.stderr
    return done.stderr


def accepted(run, options, command="run"):
    """The screen, and for a run also how its summary says that the tables were read."""
    done = run(command, *options)
    assert done.exit_code == 0, done.stderr
    if command != "run" or "--json" in options:
        return done.stdout
    summary = json.loads((Path(options[len(options) - options[::-1].index("--out")]) / "summary.json").read_text())
    return "\n".join([done.stdout, *summary["data"]["understood"]])


def test_programs_find_the_same_lines_in_the_summary(run, files):
    data = json.loads(accepted(run, (*files(), "--json")))["data"]
    assert data["understood"][0].startswith("Read 120 votes of 40 items")
    assert sum(each["votes"] for each in data["votes_by_class"]) == 120
    assert data["usable_predictions"] == [{"model": "probs", "items": 40}]


def test_a_row_per_vote_with_unusual_names_is_refused_until_they_are_named(run, files, votes):
    options = files(votes_head=("pic", "who", "said_so"))
    words = ("--label-column", "--format wide", "--format counts")
    refused(run, options, "['pic', 'who', 'said_so']", *words)
    named = ("--task-column", "pic", "--label-column", "said_so", "--worker-column", "who")
    assert "120 votes of 40 items" in accepted(run, (*options, *named))


def test_numbers_in_a_row_per_vote_are_not_read_as_counts(run, files, votes):
    rows = [(item[1:], WORKERS.index(who), CLASSES.index(label)) for item, who, label in votes]
    refused(run, files(("pic", "who", "said_so"), rows), "--format counts")


def test_a_wide_table_is_read_without_the_answer_key_and_the_remarks(run, files, votes):
    by_item = {item: [label for other, _, label in votes if other == item] for item, _, _ in votes}
    rows = [(item, *labels, labels[0], ("easy", "hard")[t % 2]) for t, (item, labels) in enumerate(by_item.items())]
    options = files(("item", *WORKERS, "gold", "remark"), rows)
    said = accepted(run, (*options, "--format", "wide"))
    assert "a column for each of 'ann', 'bob', 'cy'" in said


def test_swapped_files_are_refused(run, files, votes, probs):
    options = files(("item", *CLASSES), probs, ("item", "worker", "label"), votes)
    refused(run, options, "--votes votes.csv", "a column named like a label")


@pytest.mark.parametrize("command", ["run", "plan", "score"])
def test_percentages_are_refused_by_every_command(run, files, votes, probs, command, tmp_path):
    options = files()
    accepted(run, options)
    more = ("--params", tmp_path / "out" / "params.json", "--out", tmp_path / "o.csv") if command == "score" else ()
    options = files(probs_rows=changed(probs, lambda row: 100 * row))
    refused(run, (*options[:4], *(more or ("--out", tmp_path / "new"))), "divide them by 100", command=command)
    assert not (tmp_path / "o.csv").exists() and not (tmp_path / "new").exists()


def test_votes_given_as_predictions_are_named(run, files, votes):
    refused(run, files(probs_head=("item", "worker", "label"), probs_rows=votes), "as votes have", "--predictions")
    without = [(item, label) for item, _, label in votes]
    refused(run, files(probs_head=("item", "label"), probs_rows=without), "swapped?", "one row per item", "probs.csv")


def test_answers_of_quorate_are_neither_votes_nor_predictions(run, files, tmp_path):
    options = files()
    accepted(run, options)
    answers = ("--predictions", tmp_path / "out" / "decisions.csv", "--out", tmp_path / "again")
    refused(run, (*options[:2], *answers), "is output of quorate", "--predictions decisions.csv")
    refused(run, ("--votes", tmp_path / "out" / "decisions.csv", "--out", tmp_path / "again"), "of quorate", "--votes")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: 100 * row, ("percentages", "divide them by 100")),
        (lambda row: np.log(row / 0.3), ("logits", "softmax")),
        (np.log, ("logarithms of probabilities", "exponentials")),
        (lambda row: 3 + np.log(row + 1), ("before the softmax",)),
        (lambda row: row * [1, 0.5], ("do not sum to 1",)),
        (lambda row: np.round(7 * row), ("counts of votes", "--votes")),
        (lambda row: row * np.nan, ("0 of 40",)),
    ],
)
def test_numbers_that_are_no_probabilities_are_called_what_they_are(run, files, probs, change, words):
    options = files(probs_rows=changed(probs, change))
    if np.isnan(change(np.ones(2))).all():
        options = files(probs_rows=[(item, "x", "x") for item, *_ in probs])
        refused(run, options, "a column of numbers per class")
        return
    refused(run, options, "of 40 rows are", *words)


def test_predictions_of_other_items_are_doubted(run, files, probs):
    rows = [probs[0], *((f"x{t}", p, q) for t, (_, p, q) in enumerate(probs[1:]))]
    assert "Warning: probs.csv has usable predictions for 1 of the 40 items" in accepted(run, files(probs_rows=rows))
    refused(run, (*files(probs_rows=rows[1:]), "--overwrite"), "the ids of votes.csv", "--id-column")


def test_most_rows_set_aside_is_a_warning_that_says_which_rule(run, files, votes):
    rows = [(item, who, label if t % 3 == 0 else "") for t, (item, who, label) in enumerate(votes)]
    said = accepted(run, files(votes_rows=rows))
    assert "Warning: 80 rows of votes.csv are set aside and 40 votes are left (no-answer 80)" in said


def test_labels_that_never_come_again_are_no_classes(run, files, votes):
    rows = [(item, who, f"remark {number}") for number, (item, who, _) in enumerate(votes)]
    refused(run, (*files(votes_rows=rows)[:2], "--out", "nowhere"), "120 different labels", "--label-column")


def test_pools_that_nearly_all_tie_are_doubted(run, files, votes):
    rows = [(item, who, CLASSES[n % 2]) for n, (item, who, _) in enumerate(v for v in votes if v[1] != "cy")]
    assert "Warning: 40 of 40 items with two or more votes end in a tie" in accepted(run, files(votes_rows=rows))


def test_annotators_labels_in_numbers_are_not_taken_for_counts(run, files, votes, tmp_path):
    by_item = {item: [CLASSES.index(label) for other, _, label in votes if other == item] for item, _, _ in votes}
    rows = [(item, *(3 * label for label in labels)) for item, labels in by_item.items()]
    options = files(("item", *WORKERS), rows)[:2]
    refused(run, (*options, "--out", tmp_path / "out"), "--format wide")
    said = accepted(run, (*options, "--out", tmp_path / "out", "--format", "wide"))
    assert "a column for each of 'ann', 'bob', 'cy'" in said


def test_the_right_answer_is_not_taken_for_the_votes(run, files, votes):
    gold = {item: label for item, _, label in votes}
    options = files(("item", "worker", "label", "answer"), [(item, who, gold[item], said) for item, who, said in votes])
    refused(run, options, "are unanimous", "['answer']", "--label-column")
    assert "label 'answer', worker" in accepted(run, (*options, "--label-column", "answer"))


def test_one_vote_per_item_is_doubted(run, files, votes):
    rows = [(number, item, who, label) for number, (item, who, label) in enumerate(votes)]
    options = files(("id", "clip", "who", "label"), rows)
    assert "Warning: Each of the 120 items has one vote" in accepted(run, (*options[:2], *options[4:]))


def test_times_that_cannot_be_read_are_refused(run, files, votes):
    rows = [(*row, f"{t % 28 + 1:02d}/03/2026 10:00") for t, row in enumerate(votes)]
    options = files(("item", "worker", "label", "time"), rows)
    refused(run, options, "120 of 120 cannot be read, such as ['01/03/2026 10:00'", "--ignore-columns")
    accepted(run, (*options, "--ignore-columns", "time"))


def test_a_label_that_means_no_answer_is_asked_about(run, files, votes):
    rows = [*votes, *((f"p{t}", "dan", "don't know") for t in range(12))]
    options = files(votes_rows=rows)
    refused(run, options, "don't know", "--abstain-labels", "--classes")
    said = accepted(run, (*options, "--abstain-labels", "Don't know,NA"))
    assert "120 votes of 40 items" in said and "no-answer 12" in said
    assert "132 votes" in accepted(run, (*options, "--classes", "cat,dog,don't know", "--overwrite"))


@pytest.mark.parametrize(
    ("option", "value", "meant"),
    [("--threshold", 95, "0.95"), ("--target-error", 2, "0.02"), ("--audit-rate", 10, "0.1")],
)
def test_a_percentage_for_a_share_is_understood_as_a_slip(run, files, option, value, meant):
    more = ("--target-error", 0.02) if option == "--audit-rate" else ()
    refused(run, (*files(), *more, option, value), f"{option} {value}", f"did you mean {meant}?")


@pytest.mark.parametrize(
    "option", ["--task-column", "--worker-column", "--label-column", "--time-column", "--id-column"]
)
def test_a_column_that_is_not_there_is_named_with_its_option(run, files, option):
    refused(run, (*files(), option, "nope"), f"{option} nope; expected a column of")


ABOUT = ("nodule", "effusion")


def reads(votes, findings=ABOUT):
    """A row per item, person and finding."""
    answers = np.random.default_rng(3).choice(CLASSES, (len(votes), len(findings)))
    return [(*row[:2], finding, answers[n, k]) for n, row in enumerate(votes) for k, finding in enumerate(findings)]


def test_a_row_per_finding_is_doubted(run, tmp_path, votes):
    table = write_csv(tmp_path / "votes.csv", ("item", "reader", "finding", "label"), reads(votes))
    said = accepted(run, ("--votes", table, "--out", tmp_path / "out"))
    assert "Warning: 120 votes of votes.csv are a person's further votes on an item" in said
    table = write_csv(tmp_path / "votes.csv", ("item", "reader", "finding", "present"), reads(votes))
    refused(run, ("--votes", table, "--out", tmp_path / "other"), "--classes effusion")

"""Votes written in every format come back as they were."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorate.tables import join, read_predictions, read_votes
from tests.quorate.tables.writing import vote_rows, write

NAMES = st.text(st.sampled_from("abcXYZ019 é漢,;\"'-_|"), min_size=1, max_size=6).map(lambda text: f"n{text}m")
QUICK = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def vote_tables(draw):
    """Each worker votes at most once on an item; at least two classes are used."""
    items = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    workers = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    classes = draw(st.lists(NAMES, min_size=2, max_size=4, unique_by=str.casefold))
    cells = [(item, worker) for item in items for worker in workers]
    votes = [(item, worker, draw(st.sampled_from([*classes, None]))) for item, worker in cells]
    votes = [vote for vote in votes if vote[2] is not None] + [("first", workers[0], classes[0])]
    return [*votes, ("first", workers[1], classes[1])], workers, classes


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".xlsx"])
@QUICK
@given(table=vote_tables())
def test_long_tables_come_back_in_order(folder, ending, table):
    votes, _, _ = table
    path = write(folder / f"votes{ending}", ["item_id", "Annotator", "answer"], votes)
    joined = join(read_votes(path, strict=True))
    assert vote_rows(joined) == votes
    assert joined.items == tuple(dict.fromkeys(vote[0] for vote in votes))
    assert joined.report.findings == ()


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".xlsx"])
@QUICK
@given(table=vote_tables())
def test_wide_tables_come_back_row_by_row(folder, ending, table):
    votes, workers, _ = table
    cast = {(item, worker): label for item, worker, label in votes}
    items = list(dict.fromkeys(vote[0] for vote in votes))
    rows = [[item, *(cast.get((item, worker)) for worker in workers)] for item in items]
    joined = join(read_votes(write(folder / f"wide{ending}", ["id", *workers], rows), format="wide", strict=True))
    by_row = [(item, worker, cast[item, worker]) for item in items for worker in workers if (item, worker) in cast]
    assert vote_rows(joined) == by_row


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".xlsx"])
@QUICK
@given(table=vote_tables())
def test_counts_come_back_as_counts(folder, ending, table):
    votes, _, classes = table
    items = list(dict.fromkeys(vote[0] for vote in votes))
    counts = np.array([[sum(v[0] == i and v[2] == c for v in votes) for c in classes] for i in items])
    rows = [[item, *map(int, row)] for item, row in zip(items, counts, strict=True)]
    joined = join(read_votes(write(folder / f"counts{ending}", ["id", *classes], rows), format="counts", strict=True))
    assert joined.classes == tuple(classes) and joined.items == tuple(items)
    found = np.array([np.bincount(joined.votes_of(t), minlength=len(classes)) for t in range(len(items))])
    assert np.array_equal(found, counts)
    assert joined.workers == () and set(joined.worker) == {-1}


@QUICK
@given(table=vote_tables(), data=st.data())
def test_probabilities_are_matched_by_class_name_and_id_never_by_place(folder, table, data):
    votes, _, classes = table
    joined = join(read_votes(write(folder / "votes.csv", ["task", "worker", "label"], votes)))
    items = data.draw(st.permutations(joined.items))
    columns = data.draw(st.permutations(classes))
    weights = {(item, name): data.draw(st.integers(1, 9)) for item in items for name in columns}
    rows = [[item, *(weights[item, n] / sum(weights[item, c] for c in columns) for n in columns)] for item in items]
    path = write(folder / "probs.csv", [*columns, "id"], [[*row[1:], row[0]] for row in rows])
    both = join(read_votes(folder / "votes.csv"), read_predictions(path, id_column="id"))
    assert both.classes == tuple(columns)
    for t, item in enumerate(both.items):
        row = np.array([weights[item, name] for name in both.classes], dtype=float)
        assert np.allclose(both.predictions[0, t], row / row.sum(), atol=1e-8)
    assert vote_rows(both) == vote_rows(joined)

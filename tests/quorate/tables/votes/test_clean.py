import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.tables import read_votes

CASTS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=25
)


def kept_by_hand(rows, timed):
    """The row that counts for each item and worker, the slow way."""
    kept = set()
    for pair in {row[:2] for row in rows}:
        mine = [at for at, row in enumerate(rows) if row[:2] == pair]
        mine.sort(key=lambda at: (rows[at][3] if timed else 0, at))
        last = mine[-1]
        while mine and rows[mine[-1]][2] == rows[last][2]:
            kept_one = mine.pop()
        kept.add(kept_one)
    return sorted(kept)


@settings(max_examples=60, deadline=None)
@given(rows=CASTS, timed=st.booleans())
def test_one_vote_counts_for_each_item_and_worker(rows, timed):
    columns = dict(zip(("task", "worker", "label", "time"), zip(*rows, strict=True), strict=True))
    if not timed:
        del columns["time"]
    votes = read_votes(pa.table({name: list(cells) for name, cells in columns.items()}))
    assert list(np.flatnonzero(votes.counts_vote)) == kept_by_hand(rows, timed)
    aside = votes.report.count("duplicate")
    assert aside == len(rows) - votes.num_votes

"""The shift experiment as a whole: on a small made-up shift, and on the real data."""

import json

import pytest

from quorate.datasets import load_npz
from quorate.reports.figures import draw
from quorate_paper.report import Context
from quorate_paper.shift import section, stored
from quorate_paper.shift.near import GROUPINGS
from quorate_paper.shift.streams import DATA
from quorate_paper.shift.table import ROWS
from quorate_paper.store import RunStore
from quorate_paper.sweep import on_threads, sweep
from tests.quorate_paper.shift.test_streams import TINY, run_here


def test_without_the_data_the_section_says_so():
    found = section(Context({}, (3,), True, run_here))
    assert len(found.lead) == 1 and "imagenet16h_shift" in found.lead[0]
    assert not found.tables


@pytest.fixture(scope="module")
def tiny():
    return section(Context({DATA: TINY}, (3,), True, run_here))


def test_tables_are_rectangular_and_name_every_method(tiny):
    for table in tiny.tables:
        assert {len(row) for row in table.rows} == {len(table.heads)}
    assert len({table.key for table in tiny.tables}) == len(tiny.tables)


def test_the_summary_is_plain_json(tiny):
    summary = json.loads(json.dumps(tiny.summary, allow_nan=False))
    assert len(summary["shift_table"]) == 2 * len(ROWS) * 4 * 2
    assert {row["grouping"] for row in summary["shift_counts"]} == set(GROUPINGS)


def test_published_runs_are_made_on_request_and_shown_as_stored_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "THRESHOLDS", (0.5, 0.9))
    monkeypatch.setattr(stored, "SAMPLED_THRESHOLDS", (0.9,))
    written = {}
    context = Context({DATA: TINY}, (3,), True, run_here, written.__setitem__)
    made = section(context)
    path = tmp_path / stored.FILE
    path.write_text(written[stored.FILE])
    kept = json.loads(path.read_text())
    assert {"version", "libraries", "seeds", "data"} <= kept.keys() and kept["seeds"] == [3]
    assert {(each["variant"], each["method"]) for each in kept["streams"]} >= {
        ("sampled", "finexp"), ("as-published", "infexp"), ("as-released", "finexp"),
    }  # fmt: skip
    assert "stored results" not in section(Context({DATA: TINY}, (3,), True, run_here)).lead[1]  # of other data
    monkeypatch.setattr(stored, "STORED", path)
    shown = section(Context({DATA: TINY}, (3,), True, run_here))
    assert "stored results" in shown.lead[1]
    for before, after in zip(made.summary["shift_table"], shown.summary["shift_table"], strict=True):
        for column in ("as_published", "as_released"):
            assert after.get(column) == pytest.approx(before.get(column), abs=2e-3)


def test_every_figure_draws(tiny):
    pytest.importorskip("matplotlib")
    assert [figure.key for figure in tiny.figures] == [
        "shift-curves", "shift-budgets", "shift-architectures", "shift-orderings",
    ]  # fmt: skip
    for figure in tiny.figures:
        assert draw(figure).png.startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_real_shift_is_reproduced(data_dir, tmp_path):
    datasets = {DATA: load_npz(data_dir / "imagenet16h_shift.npz")}
    store = RunStore(tmp_path, {DATA: "real"})
    found = section(Context(datasets, (3,), True, lambda jobs: sweep(jobs, datasets, store, backend=on_threads(2))))
    counts = {(each["column"], each["grouping"]): each for each in found.summary["shift_counts"]}
    assert counts["exact", "pre-shift cost"]["near"] >= 0.8 * counts["exact", "pre-shift cost"]["total"]
    released = counts["as_released", "pre-shift cost"]
    assert released["near"] > 0.8 * released["total"]

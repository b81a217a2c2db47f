"""From decisions to draws to statements, with files as people have them."""

import csv
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from quorate.audit import RunningAudit, draw, most_errors
from quorate.commands.audit import draw_audit, panel_loss, report_audit
from quorate.commands.audit.files import COLUMNS, VotesTable, read_draw
from quorate.commands.audit.report import answer
from quorate.errors import InvalidInput
from tests.refusals import refused

POOL = 5
HEADER = ("item", "consensus_label", "confidence", "num_votes", "agreement", "stop_reason", "cost", "pool_size")


def table(path, header, rows):
    with path.open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def decided(number, *, reason=None, confidence=None):
    """Every third item is settled; the others stop when the model is 93 to 98 % sure."""
    reason = reason or ("settled" if number % 3 == 0 else "confident")
    sure = 1.0 if reason == "settled" else 0.93 + (number % 6) / 100
    return (f"photo-{number}", "cat", confidence if confidence is not None else sure, 3, 1.0, reason, 3, POOL)


def decisions_file(tmp_path, rows=None, *, name="decisions.csv", count=600):
    return table(tmp_path / name, HEADER, rows if rows is not None else [decided(n) for n in range(count)])


def votes_file(tmp_path, audit, *, wrong=(), short=(), tied=()):
    """Full panels for "cat", but for the items named."""
    rows = []
    for row in read_draw(audit).rows:
        if row.audited:
            labels = ["cat"] * 3 + ["dog"] * 2
            labels = ["dog"] * 4 + ["cat"] if row.item in wrong else labels
            labels = ["cat", "cat", "dog", "dog", "owl"] if row.item in tied else labels
            labels = labels[2:4] if row.item in short else labels
            rows += [(row.item, f"expert-{k}", label) for k, label in enumerate(labels)]
    return table(tmp_path / "panel.csv", ("task", "worker", "label"), rows)


def audited_items(audit):
    return [row.item for row in read_draw(audit).rows if row.audited]


@pytest.fixture
def audit(tmp_path):
    draw_audit(decisions_file(tmp_path), rate=0.3, seed=7, out=tmp_path / "audit.csv")
    return tmp_path / "audit.csv"


def test_a_draw_writes_the_draws_of_the_unsettled_items_with_what_they_were_drawn_for(tmp_path, audit):
    lines = audit.read_text().splitlines()
    assert json.loads(lines[0].removeprefix("# quorate audit draw "))["seed"] == 7
    assert lines[1] == "item,rate,audited,expected_loss,label,pool_size"
    rows = read_draw(audit).rows
    assert [row.item for row in rows] == [f"photo-{n}" for n in range(600) if n % 3]
    assert rows[0].expected_loss == pytest.approx(0.06)
    assert {row.pool_size for row in rows} == {POOL}
    draws = draw([row.item for row in rows], 0.3, seed=7)
    assert [row.audited for row in rows] == [one.audited for one in draws]


def test_items_without_an_answer_are_neither_drawn_nor_counted(tmp_path):
    rows = [dict(zip(HEADER, decided(number), strict=True)) for number in range(100)]
    rows[3] |= {"consensus_label": "", "confidence": "", "stop_reason": "exhausted"}
    rows = [list(row.values()) for row in rows]
    drawn = draw_audit(decisions_file(tmp_path, rows, name="abstained.csv"), rate=1.0, seed=7, out=tmp_path / "a.csv")
    assert (drawn.num_closed, drawn.num_open) == (99, 1)


def test_grown_decisions_keep_the_draws_and_add_new_ones(tmp_path):
    out = tmp_path / "audit.csv"
    draw_audit(decisions_file(tmp_path, count=100), rate=0.3, seed=7, out=out)
    before = read_draw(out).rows
    again = draw_audit(decisions_file(tmp_path, count=100), rate=0.3, seed=7, out=out)
    assert (again.num_new, read_draw(out).rows) == (0, before)
    grown = draw_audit(decisions_file(tmp_path, count=160), rate=0.3, seed=7, out=out)
    assert grown.num_new == grown.num_drawn - len(before) == 40
    assert read_draw(out).rows[: len(before)] == before


def test_a_frame_is_refused_because_the_sample_names_its_file(tmp_path):
    with refused("decisions"):
        draw_audit(pa.table({"item": ["a"]}), rate=0.5, seed=1, out=tmp_path / "audit.csv")


def test_an_item_is_not_drawn_twice(tmp_path, audit):
    content = audit.read_bytes()
    for change in ({"seed": 8}, {"rate": 0.31}):
        with pytest.raises(InvalidInput) as caught:
            draw_audit(tmp_path / "decisions.csv", **{"rate": 0.3, "seed": 7, "out": audit, **change})
        assert {caught.value.field: caught.value.value} == change
    assert audit.read_bytes() == content


def test_the_order_of_rows_moves_no_draw_but_the_running_bound_follows_it(tmp_path):
    """The bound after all items is the same, on the way it is not: errors come first in one, last in the other."""
    rows = [decided(n) for n in range(600)]
    draws, reports = {}, {}
    for name, order in (("given", rows), ("turned", rows[::-1])):
        decisions = decisions_file(tmp_path, order, name=f"{name}.csv")
        audit = tmp_path / f"{name}-audit.csv"
        draw_audit(decisions, rate=0.3, seed=7, out=audit)
        draws[name] = {row.item: row.audited for row in read_draw(audit).rows}
        early = sorted(audited_items(audit), key=lambda item: int(item.removeprefix("photo-")))[:5]
        reports[name] = report_audit(audit, votes=votes_file(tmp_path, audit, wrong=early))
    assert draws["given"] == draws["turned"]
    given, turned = (reports[name].checkpoints for name in ("given", "turned"))
    assert given[-1].bound.total == pytest.approx(turned[-1].bound.total)
    assert given[4].num_wrong == 5
    assert turned[4].num_wrong == 0
    assert given[4].bound.total > turned[4].bound.total + 1


def test_a_report_is_the_library_folded_over_the_decisions(tmp_path, audit):
    items = audited_items(audit)
    wrong, short, tied = items[3:6], items[10:12], items[20:21]
    votes = votes_file(tmp_path, audit, wrong=wrong, short=short, tied=tied)
    report = report_audit(audit, votes=votes, confidence_level=0.9)
    state = RunningAudit(min_rate=0.3)
    for n in range(600):
        item, sure = decided(n)[0], decided(n)[2]
        if n % 3 == 0:
            state = state.settle()
            continue
        loss = 1.0 if item in wrong else None if item in short else 0.5 if item in tied else 0.0
        state = state.update(expected_loss=1 - sure, rate=0.3, audited=item in items, loss=loss)
    assert report.bound == state.bound(0.1)
    assert (report.tally.num_items, report.tally.num_settled, report.tally.num_audited) == (600, 200, len(items))
    assert (report.tally.num_wrong, report.tally.num_incomplete) == (5.5, 2)
    assert report.batch.most_errors == most_errors(400, len(items), 6, alpha=0.1)  # the tie counts as one here
    assert report.checkpoints[-1].num_items == 600


def test_missing_panels_count_as_wrong_and_too_few_audits_are_said(tmp_path, audit):
    nothing = table(tmp_path / "none.csv", ("task", "worker", "label"), [("photo-other", "ann", "cat")])
    report = report_audit(audit, votes=nothing)
    assert report.tally.num_incomplete == report.tally.num_audited == report.tally.num_wrong
    assert report.sentences[0].startswith("Not enough audits yet")


def test_votes_at_hand_that_settle_a_panel_complete_it():
    assert panel_loss(Counter(cat=3), "cat", 5) == 0
    assert panel_loss(Counter(cat=3), "dog", 5) == 1
    assert panel_loss(Counter(cat=2), "cat", 5) is None
    assert panel_loss(Counter(cat=2, dog=2), "cat", 5) is None
    assert panel_loss(Counter(a=2, b=2, c=2), "a", 6) == pytest.approx(2 / 3)
    assert panel_loss(Counter(a=2, b=2, c=2), "d", 6) == 1
    assert panel_loss(Counter(), "cat", 5) is None


def test_panels_that_are_all_unfinished_are_never_taken_for_full_ones(tmp_path):
    """Two of nine votes everywhere, unanimous: nothing is known of any panel."""
    rows = [(*decided(n)[:-1], 9) for n in range(300)]
    out = tmp_path / "audit.csv"
    draw_audit(decisions_file(tmp_path, rows), rate=0.5, seed=1, out=out)
    two = [(item, worker, "cat") for item in audited_items(out) for worker in ("ann", "bob")]
    report = report_audit(out, votes=table(tmp_path / "two.csv", ("item", "worker", "label"), two))
    assert report.tally.num_incomplete == report.tally.num_audited > 50
    assert report.largest_pool == 9


def test_each_item_is_judged_by_the_size_of_its_own_pool(tmp_path):
    rows = [(*decided(n)[:-1], 3 if n % 2 else 7) for n in range(300)]
    out = tmp_path / "audit.csv"
    draw_audit(decisions_file(tmp_path, rows), rate=0.5, seed=1, out=out)
    items = audited_items(out)
    votes = [(item, worker, "cat") for item in items for worker in ("ann", "bob", "cy")]  # settles 3 (and 5), not 7
    report = report_audit(out, votes=table(tmp_path / "three.csv", ("item", "worker", "label"), votes))
    assert report.tally.num_incomplete == sum(int(item.removeprefix("photo-")) % 2 == 0 for item in items) > 10
    assert (report.smallest_pool, report.largest_pool) == (3, 7)


def test_a_list_of_votes_still_to_be_given_proves_nothing(tmp_path, audit):
    """Every second worker's label is blank, then all of them: the panels stay as large as they are."""
    items = audited_items(audit)
    half = [(item, f"w{k}", "cat" if k < 2 else "") for item in items for k in range(POOL)]
    for name, rows in (("half", half), ("todo", [(item, worker, "") for item, worker, _ in half])):
        report = report_audit(audit, votes=table(tmp_path / f"{name}.csv", ("item", "worker", "label"), rows))
        assert report.tally.num_incomplete == report.tally.num_audited == len(items)


def test_ids_are_matched_as_in_every_table_and_votes_for_other_items_are_counted(tmp_path):
    rows = [(str(n), *decided(n)[1:]) for n in range(300)]
    out = tmp_path / "audit.csv"
    draw_audit(decisions_file(tmp_path, rows), rate=0.5, seed=1, out=out)
    votes = [(f" {n}.0", worker, "cat") for n in range(300) for worker in ("ann", "bob", "cy")]
    report = report_audit(out, votes=table(tmp_path / "numbers.csv", ("item", "worker", "label"), votes))
    assert (report.tally.num_incomplete, report.tally.num_wrong) == (0, 0)
    assert report.num_passed_over == report.summary()["num_passed_over"] == 3 * (300 - len(audited_items(out)))
    assert str(report.num_passed_over) in "\n".join(report.notes)


def test_votes_may_have_other_columns_or_a_column_per_worker(tmp_path, audit):
    items = audited_items(audit)
    usual = report_audit(audit, votes=votes_file(tmp_path, audit))
    labels = ["cat"] * 3 + ["dog"] * 2
    named = [(item, k, label) for item in items for k, label in enumerate(labels)]
    named = table(tmp_path / "named.csv", ("what", "who", "said"), named)
    wide = table(tmp_path / "wide.csv", ("item", "ann", "bob", "cy", "dee", "eve"), [(item, *labels) for item in items])
    for votes in (VotesTable(named, task="what", worker="who", label="said"), VotesTable(wide, format="wide")):
        assert report_audit(audit, votes=votes).bound == usual.bound


def test_settled_answers_against_the_votes_are_known_errors(tmp_path):
    """With unequal costs of errors the answer may be one that lost: its confidence is 0."""
    rows = [decided(n) for n in range(300)] + [decided(n, reason="settled", confidence=0.0) for n in range(300, 330)]
    out = tmp_path / "audit.csv"
    draw_audit(decisions_file(tmp_path, rows), rate=0.5, seed=1, out=out)
    report = report_audit(out, votes=votes_file(tmp_path, out))
    assert report.tally.settled_loss == 30
    assert report.bound.total >= 30


def test_whole_pools_that_end_in_a_tie_count_in_part(tmp_path):
    rows = [decided(n) for n in range(300)] + [
        decided(300, reason="exhausted", confidence=1.0),
        decided(301, reason="exhausted", confidence=0.5),
        decided(302, reason="exhausted", confidence=1 / 3),
    ]
    out = tmp_path / "audit.csv"
    draw_audit(decisions_file(tmp_path, rows), rate=0.5, seed=1, out=out)
    report = report_audit(out, votes=votes_file(tmp_path, out))
    assert report.tally.num_settled == 103
    assert report.tally.settled_loss == pytest.approx(0.5 + 2 / 3)


def test_jsonl_and_parquet_are_read_as_csv_is(tmp_path, audit):
    from pyarrow import Table, parquet

    rows = [dict(zip(HEADER, decided(n), strict=True)) for n in range(600)]
    (tmp_path / "decisions.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    parquet.write_table(Table.from_pylist(rows), tmp_path / "decisions.parquet")
    for name in ("decisions.jsonl", "decisions.parquet"):
        draw_audit(tmp_path / name, rate=0.3, seed=7, out=tmp_path / name.replace(".", "-"))
        assert audited_items(tmp_path / name.replace(".", "-")) == audited_items(audit)


def changed(rows, number, *, label=None, confidence=None, reason=None):
    row = list(rows[number])
    row[1], row[2], row[5] = label or row[1], row[2] if confidence is None else confidence, reason or row[5]
    return [*rows[:number], tuple(row), *rows[number + 1 :]]


@pytest.mark.parametrize(
    ("alter", "field", "place"),
    [
        (lambda rows: changed(rows, 1, label="dog"), "decisions", "item 'photo-1'"),
        (lambda rows: changed(rows, 1, confidence=0.99), "decisions", "item 'photo-1'"),
        (lambda rows: changed(rows, 1, reason="settled"), "decisions", "item 'photo-1'"),
        (lambda rows: rows[2:], "decisions", "item 'photo-1'"),
        (lambda rows: [*rows, decided(601)], "audit", None),
        (lambda rows: changed(rows, 1, confidence=1.2), "confidence", "row 2 of "),
        (lambda rows: changed(rows, 1, confidence="high"), "confidence", "row 2 of "),
        (lambda rows: changed(rows, 1, reason="bored"), "stop_reason", "row 2 of "),
        (lambda rows: [*rows, rows[4]], "decisions", None),
        (lambda rows: [*rows, (*decided(601)[:-1], "")], "pool_size", "row 601 of "),
        (lambda rows: [*rows, ("x", "cat")], "decisions", None),
        (lambda rows: [], "decisions", None),
    ],
)
def test_decisions_that_do_not_fit_the_draw_are_refused(tmp_path, audit, alter, field, place):
    votes = votes_file(tmp_path, audit)
    altered = decisions_file(tmp_path, alter([decided(n) for n in range(600)]))
    with refused(field) as caught:
        report_audit(audit, votes=votes)
    assert (caught.value.place or "").startswith(place or "")
    if field in ("decisions", "audit"):
        assert caught.value.value == str(altered if field == "decisions" else audit)


def test_a_draw_changed_by_hand_is_found(tmp_path, audit):
    votes = votes_file(tmp_path, audit)
    first = audited_items(audit)[0]
    text = audit.read_text()
    audit.write_text(text.replace(f"{first},0.3,1,", f"{first},0.3,0,"))
    with pytest.raises(InvalidInput) as caught:
        report_audit(audit, votes=votes)
    assert (caught.value.field, caught.value.place) == ("audit", f"item '{first}'")


def test_another_file_is_not_taken_for_a_draw(tmp_path):
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00\x01")
    for other in (decisions_file(tmp_path), tmp_path / "bytes.csv"):
        with refused("audit", value=str(other)):
            report_audit(other, votes=tmp_path / "panel.csv")


def test_of_a_worker_who_votes_twice_the_last_vote_counts(tmp_path, audit):
    full = votes_file(tmp_path, audit)
    first = audited_items(audit)[0]
    with full.open("a") as text:
        text.write(f"{first},expert-0,dog\n")
    report = report_audit(audit, votes=full)
    assert report.tally.num_wrong == 1


def test_rates_that_differ_leave_the_running_bound_and_say_why_there_is_no_other(tmp_path):
    decisions = decisions_file(tmp_path, count=90)
    items = [decided(n) for n in range(90) if n % 3]
    draws = draw([row[0] for row in items], [0.3, 0.6] * 30, seed=5)
    lines = [
        f"{one.item},{one.rate},{int(one.audited)},{1 - row[2]!r},cat,{POOL}"
        for one, row in zip(draws, items, strict=True)
    ]
    meta = json.dumps({"seed": 5, "min_rate": 0.3, "decisions": str(decisions)})
    audit = tmp_path / "audit.csv"
    audit.write_text("\n".join([f"# quorate audit draw {meta}", ",".join(COLUMNS), *lines]))
    report = report_audit(audit, votes=votes_file(tmp_path, audit))
    assert report.batch is None
    assert report.bound.num_items == 90


def test_the_report_has_the_answer_and_is_not_overwritten(tmp_path, audit):
    votes, out = votes_file(tmp_path, audit, wrong=audited_items(audit)[:2]), tmp_path / "out"
    found = report_audit(audit, votes=votes, out=out)
    assert answer(found) in (out / "report.html").read_text().replace("\u00a0", " ")
    assert json.loads((out / "audit.json").read_text())["num_wrong"] == 2
    with pytest.raises(InvalidInput):
        report_audit(audit, votes=votes, out=out)
    assert report_audit(audit, votes=votes, out=out, overwrite=True).bound == found.bound


def test_the_whole_way_covers(tmp_path):
    """100 batches through the files: the statements fail in at most 0.2 of them, plus 3 standard errors."""
    rng, missed = np.random.default_rng(0), Counter()
    decisions = decisions_file(tmp_path, count=120)
    for seed in range(100):
        out = tmp_path / f"audit-{seed}.csv"
        draw_audit(decisions, rate=0.4, seed=seed, out=out)
        wrong = {decided(n)[0] for n in range(120) if n % 3 and rng.random() < 0.15}
        report = report_audit(out, votes=votes_file(tmp_path, out, wrong=wrong), confidence_level=0.8)
        missed["running"] += report.bound.total < len(wrong)
        missed["batch"] += report.batch.most_errors < len(wrong)
    assert max(missed["running"], missed["batch"]) <= 20 + 3 * (100 * 0.2 * 0.8) ** 0.5

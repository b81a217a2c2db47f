"""The asyncio loop: several items at once, one question each, and a session that survives errors and cancellation."""

import asyncio
from collections import Counter

import pytest

import quorate
from quorate.live import AskFailed, Judge, Jury, adecide_all, decide_all

CLASSES = ["cat", "dog"]
ITEMS = [(str(number), {"cat": 0.1 + 0.08 * number}) for number in range(10)]


def vote_of(name, item):
    """A fixed, uneven vote of each judge on each item."""
    return CLASSES[(int(item) * 7 + len(name) * 3) % 5 % 2]


def judges(ask=None):
    async def plain(name, item):
        await asyncio.sleep(0)
        return vote_of(name, item)

    speak = ask or plain
    return [Judge(name, lambda item, name=name: speak(name, item)) for name in ("a", "bb", "ccc", "dddd", "eeeee")]


def run(items=ITEMS, jury=None, **options):
    options.setdefault("classes", CLASSES) if "session" not in options else None
    return asyncio.run(adecide_all(items, jury or judges(), **options))


def session(method="value", **options):
    return quorate.Session(method, classes=CLASSES, pool_size=5, **options)


def acts(result):
    return {each.item: (each.label, [(act.judge, act.label) for act in each.acts]) for each in result.outcomes}


@pytest.mark.parametrize("ahead", [1, 3])
def test_one_item_at_a_time_decides_as_the_plain_loop(ahead):
    plain = [Judge(name, lambda item, name=name: vote_of(name, item)) for name in ("a", "bb", "ccc", "dddd", "eeeee")]
    expected = decide_all(ITEMS, plain, method="value:refit_every=3", classes=CLASSES)
    found = run(concurrency=1, ahead=ahead, method="value:refit_every=3")
    assert acts(found) == acts(expected)
    assert found.session.counts() == expected.session.counts()


def test_items_are_open_concurrently_with_one_question_each():
    out, most_items, most_each = Counter(), [0], [0]

    async def ask(name, item):
        out[item] += 1
        most_items[0] = max(most_items[0], sum(count > 0 for count in out.values()))
        most_each[0] = max(most_each[0], out[item])
        await asyncio.sleep(0.001)
        out[item] -= 1
        return "cat"

    run(jury=judges(ask), concurrency=4, method="ask-all")
    assert most_items == [4] and most_each == [1]


def test_questions_ahead_are_concurrent_and_never_unnecessary():
    out, most = Counter(), [0]

    async def ask(name, item):
        out[item] += 1
        most[0] = max(most[0], out[item])
        await asyncio.sleep(0.001)
        out[item] -= 1
        return vote_of(name, item)

    jury = Jury(judges(ask), seed=3)
    one_by_one = run(jury=jury, method="until-settled", ahead=1)
    assert most == [1]
    ahead = run(jury=jury, method="until-settled", ahead=5)
    assert most == [3]  # three of five settle it at the earliest
    assert ahead.cost == one_by_one.cost and ahead.labels == one_by_one.labels


def test_an_error_stops_the_questions_and_keeps_pending_answers():
    started = []

    async def ask(name, item):
        started.append(item)
        await asyncio.sleep(0.001 if item == "0" else 0.02)
        if item == "0":
            raise ConnectionError("no route")
        return "cat"

    held = session("ask-all")
    with pytest.raises(AskFailed, match="item '0'") as caught:
        run(jury=judges(ask), session=held, concurrency=3)
    assert sorted(started) == ["0", "1", "2"]
    assert [held.decision(item).num_votes for item in held.open_items()] == [0, 1, 1]
    assert caught.value.session is held
    assert len(run(session=held).outcomes) == 10 and held.open_items() == []


def test_a_cancelled_loop_leaves_a_session_that_can_continue(tmp_path):
    async def ask(name, item):
        await asyncio.sleep(0.002 if item != "1" else 60)
        return "cat"

    async def interrupted(held):
        task = asyncio.create_task(adecide_all(ITEMS, judges(ask), session=held, concurrency=2, ahead=2))
        while not (held.counts()["votes"] and "1" in held.open_items()):
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1  # nothing is left running

    held = session("ask-all", journal=tmp_path / "votes.jsonl")
    asyncio.run(interrupted(held))
    counts = held.counts()
    assert "1" in held.open_items() and counts["votes"] > 0
    held._journal.close()
    resumed = quorate.Session.resume(tmp_path / "votes.jsonl")
    assert resumed.counts() == counts and resumed.open_items() == held.open_items()
    assert len(run(session=resumed).labels) == 10
    assert resumed.counts() == {"opened": 10, "open": 0, "closed": 10, "votes": 50}


def test_an_answer_after_its_item_closed_is_a_late_vote():
    held = session("ask-all")

    async def ask(name, item):
        if not held.ballots(item):
            return "dog"
        held.close(item)  # somebody else decided that this is enough
        return "cat"

    result = run(items=ITEMS[:1], jury=judges(ask), session=held)
    assert result.labels == {"0": "dog"} and result.summary()["late"] == 1
    assert result.outcomes[0].decision.num_votes == 1 and held.counts()["votes"] == 2


def test_a_judge_who_takes_too_long_has_failed():
    async def ask(name, item):
        await asyncio.sleep(60 if name == "a" else 0)
        return "cat"

    result = run(items=ITEMS[:2], jury=judges(ask), method="ask-all", timeout=0.05, on_error="abstain")
    assert result.by_judge()["a"]["failures"] == 2 and result.summary()["votes"] == 8
    assert result.outcomes[0].num_failures == 1
    assert "TimeoutError" in {act.error for act in result.outcomes[0].acts}


def test_items_may_come_from_an_asynchronous_source():
    async def source():
        for entry in ITEMS:
            await asyncio.sleep(0)
            yield entry

    assert set(run(items=source()).labels) == {item for item, _ in ITEMS}


def test_an_error_ends_a_loop_whose_source_is_waiting_for_more():
    async def source():
        yield ITEMS[0]
        await asyncio.sleep(60)

    async def ask(name, item):
        raise ConnectionError("no route")

    async def within(seconds):
        async with asyncio.timeout(seconds):
            await adecide_all(source(), judges(ask), classes=CLASSES)

    with pytest.raises(AskFailed):
        asyncio.run(within(5))


def test_items_that_need_no_expert_do_not_hold_up_the_event_loop():
    ticks = []

    async def clock():
        while True:
            ticks.append(1)
            await asyncio.sleep(0)

    async def both():
        task = asyncio.create_task(clock())
        sure = quorate.method("value", error_cost=1.11111)
        result = await adecide_all(ITEMS, judges(), classes=CLASSES, method=sure, concurrency=1)
        task.cancel()
        return result

    assert asyncio.run(both()).cost == 0 and len(ticks) >= len(ITEMS)


def test_a_loop_cancelled_again_and_again_finishes_with_every_judge_asked_once(tmp_path):
    draws = quorate.rng.stream(5, "delays")

    async def ask(name, item):
        await asyncio.sleep(float(draws.random()) * 0.004)
        if draws.random() < 0.1:
            raise ConnectionError("no route")
        return vote_of(name, item)

    async def a_while(held, seconds):
        loop = adecide_all(ITEMS, judges(ask), session=held, concurrency=4, ahead=3, on_error="abstain")
        return await asyncio.wait_for(loop, seconds)

    path, result, starts = tmp_path / "votes.jsonl", None, 0
    journal = quorate.JsonlJournal(path, fsync=False)
    held = session("until-settled", journal=journal)
    while result is None:
        starts += 1
        try:
            result = asyncio.run(a_while(held, 0.003 * starts))
        except TimeoutError:
            journal.close()
            journal = quorate.JsonlJournal(path, fsync=False)
            held = quorate.Session.resume(journal)
    journal.close()
    _, events = quorate.read_journal(path)
    acted = Counter((event["item"], event["voter"]) for event in events if event["type"] in ("vote", "abstain"))
    assert starts > 1 and set(acted.values()) == {1}
    assert held.open_items() == [] and sorted(result.labels) == [item for item, _ in ITEMS]
    assert not any(event.get("late") for event in quorate.read_journal(path)[1])

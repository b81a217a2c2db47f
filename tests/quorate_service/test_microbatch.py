"""Concurrent calls share a batch; an idle queue runs at once, and one bad call does not fail the others."""

import asyncio
import threading

import pytest

from quorate_service.microbatch import LATER, MOST, MicroBatcher


class Slow:
    """Returns each question as its answer; keeps the batches. The first one waits for `go`."""

    def __init__(self):
        self.batches, self.go = [], threading.Event()

    def __call__(self, questions):
        self.batches.append(list(questions))
        if len(self.batches) == 1:
            self.go.wait(5)
        return [ValueError(question) if question == "bad" else question for question in questions]


async def begun(batches):
    """Wait until the first batch is running."""
    while not batches:
        await asyncio.sleep(0.001)


def together(call, *questions):
    """The answers, or exceptions, of calls that are submitted at once."""

    async def many():
        batcher = MicroBatcher(call)
        return await asyncio.gather(*(batcher.submit(each) for each in questions), return_exceptions=True)

    return asyncio.run(many())


def test_the_first_call_runs_at_once_and_the_rest_share_a_batch():
    slow = Slow()

    async def many():
        batcher = MicroBatcher(slow)
        first = asyncio.create_task(batcher.submit("first"))
        await begun(slow.batches)
        rest = [asyncio.create_task(batcher.submit(n)) for n in range(5)]
        await asyncio.sleep(0)
        slow.go.set()
        return [await each for each in (first, *rest)]

    assert asyncio.run(many()) == ["first", 0, 1, 2, 3, 4]
    assert slow.batches == [["first"], [0, 1, 2, 3, 4]]


def test_a_batch_is_never_larger_than_the_most():
    slow = Slow()
    slow.go.set()
    assert together(slow, *range(3 * MOST)) == list(range(3 * MOST))
    assert max(map(len, slow.batches)) == MOST


def test_an_exception_goes_to_the_caller_it_concerns():
    slow = Slow()
    slow.go.set()
    good, bad = together(slow, "good", "bad")
    assert good == "good" and isinstance(bad, ValueError)


def test_a_failed_batch_fails_all_its_calls_and_not_the_next_batch():
    def odd(questions):
        if "odd" in questions:
            raise RuntimeError("all of it")
        return list(questions)

    async def many():
        batcher = MicroBatcher(odd)
        failed = await asyncio.gather(batcher.submit("odd"), batcher.submit("even"), return_exceptions=True)
        return failed, await batcher.submit("later")

    failed, later = asyncio.run(many())
    assert [str(each) for each in failed] == ["all of it", "all of it"] and later == "later"


def test_a_cancelled_call_does_not_block_others():
    slow = Slow()

    async def many():
        batcher = MicroBatcher(slow)
        gone = asyncio.create_task(batcher.submit("gone"))
        await begun(slow.batches)
        gone.cancel()
        stays = asyncio.create_task(batcher.submit("stays"))
        slow.go.set()
        with pytest.raises(asyncio.CancelledError):
            await gone
        return await stays

    assert asyncio.run(many()) == "stays"
    assert slow.batches == [["gone"], ["stays"]]


def test_two_event_loops_do_not_mix():
    batcher = MicroBatcher(list)

    async def ask(n):
        return await batcher.submit(n)

    answers = []
    threads = [threading.Thread(target=lambda n=n: answers.append(asyncio.run(ask(n)))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == list(range(8))


def test_postponed_calls_come_before_later_ones():
    batches = []

    def one_by_one(questions):
        batches.append(list(questions))
        return [questions[0], *[LATER] * (len(questions) - 1)]

    assert together(one_by_one, *range(4)) == [0, 1, 2, 3]
    assert batches == [[0, 1, 2, 3], [1, 2, 3], [2, 3], [3]]


def test_queues_are_independent():
    slow = Slow()

    async def many():
        batcher = MicroBatcher(slow)
        stuck = asyncio.create_task(batcher.submit("stuck", queue="here"))
        await begun(slow.batches)
        assert await batcher.submit("free", queue="there") == "free"
        slow.go.set()
        await stuck

    asyncio.run(many())


@pytest.mark.parametrize("answers", [[], ["too", "many"]])
def test_an_answer_that_no_future_accepts_does_not_block_others(answers):
    (found,) = together(lambda _: answers, 1)
    assert isinstance(found, RuntimeError)

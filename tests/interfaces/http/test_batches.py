"""Group commit: who shares a transaction, who is told what, and what is left at the end."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from undeleted.errors import Busy, StoreError
from undeleted.interfaces.http.batches import Batches


class Slow:
    """Work that waits until it is let go."""

    def __init__(self, fail=()):
        self.seen, self.go, self._fail = [], threading.Event(), fail

    def __call__(self, items):
        self.go.wait(5)
        self.seen.append(list(items))
        if any(item in self._fail for item in items):
            raise StoreError("the disk is full.", "Make room.")
        return [item * 10 for item in items]


def play(script, work, **sizes):
    async def main():
        with ThreadPoolExecutor(1) as thread:
            batches = Batches(work, thread, **({"most": 100, "waiting": 100} | sizes))
            batches.start()
            try:
                return await script(batches)
            finally:
                work.go.set()
                await batches.close()

    return asyncio.run(main())


def ask(batches, item):
    done = asyncio.get_running_loop().create_future()
    batches.submit(item, done)
    return done


async def settle():
    for _ in range(20):
        await asyncio.sleep(0.001)


def test_those_who_come_meanwhile_share_the_next_one():
    work = Slow()

    async def script(batches):
        asked = [ask(batches, i) for i in range(1)]
        await settle()
        asked += [ask(batches, i) for i in range(1, 6)]
        await settle()
        assert batches.waiting == 5
        work.go.set()
        return await asyncio.gather(*asked)

    assert play(script, work) == [0, 10, 20, 30, 40, 50]
    assert work.seen == [[0], [1, 2, 3, 4, 5]]


def test_a_batch_has_a_largest_size():
    work = Slow()

    async def script(batches):
        asked = [ask(batches, i) for i in range(7)]
        await settle()
        work.go.set()
        return await asyncio.gather(*asked)

    play(script, work, most=3)
    assert [len(batch) for batch in work.seen] == [3, 3, 1]


def test_whoever_finds_the_queue_full_is_told_and_nothing_is_done():
    work = Slow()

    async def script(batches):
        asked = [ask(batches, 0)]
        await settle()
        asked += [ask(batches, i) for i in range(1, 4)]
        for i in (4, 5):
            with pytest.raises(Busy, match="3 requests are waiting already"):
                ask(batches, i)
        work.go.set()
        return await asyncio.gather(*asked)

    assert play(script, work, most=1, waiting=3) == [0, 10, 20, 30]
    assert work.seen == [[0], [1], [2], [3]]


def test_a_failure_is_told_to_everybody_in_it_and_the_next_goes_on():
    work = Slow(fail=(2,))

    async def script(batches):
        first = ask(batches, 1)
        await settle()
        doomed = [ask(batches, i) for i in (2, 3)]
        await settle()
        work.go.set()
        told = await asyncio.gather(first, *doomed, return_exceptions=True)
        return [*told, await ask(batches, 4)]

    one, two, three, four = play(script, work)
    assert (one, four) == (10, 40)
    assert isinstance(two, StoreError)
    assert isinstance(three, StoreError)


def test_whoever_hangs_up_has_asked_all_the_same():
    work = Slow()

    async def script(batches):
        asked = [ask(batches, i) for i in (1, 2, 3)]
        await settle()
        asked[1].cancel()
        await settle()
        work.go.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    one, two, three = play(script, work, most=1)
    assert isinstance(two, asyncio.CancelledError)
    assert (one, three) == (10, 30)
    assert work.seen == [[1], [2], [3]]


def test_closing_finishes_what_waits_and_takes_no_more():
    work = Slow()

    async def script(batches):
        asked = [ask(batches, i) for i in range(4)]
        await settle()
        closing = asyncio.create_task(batches.close())
        await settle()
        with pytest.raises(Busy, match="shutting down"):
            ask(batches, 9)
        work.go.set()
        await closing
        return await asyncio.gather(*asked)

    assert play(script, work, most=2) == [0, 10, 20, 30]


def test_work_that_answers_too_little_hangs_nobody():
    class Short(Slow):
        def __call__(self, items):
            return []

    async def script(batches):
        return await asyncio.wait_for(asyncio.gather(ask(batches, 1), return_exceptions=True), 5)

    assert isinstance(play(script, Short())[0], ValueError)


def test_results_go_on_to_the_next_stage_with_whoever_asked():
    first, second = Slow(), Slow(fail=(20,))
    first.go.set()
    second.go.set()

    async def main():
        with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
            last = Batches(second, other, most=1, waiting=2)
            begin = Batches(first, one, most=10, waiting=10, then=last.submit)
            begin.start()
            last.start()
            asked = [ask(begin, i) for i in (1, 2, 3, 4)]
            try:
                return await asyncio.gather(*asked, return_exceptions=True)
            finally:
                await begin.close()
                await last.close()

    one, two, three, four = asyncio.run(main())
    assert one == 100
    assert isinstance(two, StoreError)
    assert isinstance(four, Busy), "the second stage has room for two"
    assert isinstance(three, Busy) or three == 300

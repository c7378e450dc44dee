"""Many sequences through the real scheduler and its threads: all end once, sums are right."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from tests.unit.worker_runtime.core.sequence_models import (
    STATE,
    Apart,
    Bench,
    Recorder,
    config,
    oldest,
)
from worker_runtime.errors import InvalidArgument

SEQUENCES, STEPS, BEGIN = 40, 6, 100


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [Recorder, Apart])
@pytest.mark.parametrize("strategy", [config, oldest])
async def test_every_request_ends_once_and_every_state_is_its_sequences(
    strategy: Any, kind: Any, seed: int
) -> None:
    chance = random.Random(seed)
    bench = Bench(kind(2), strategy(slots=3, states=(STATE,)))
    accepted: list[str] = []
    expected: dict[str, int] = {}
    doomed: set[int] = set()

    async def one(sequence: int) -> None:
        total = BEGIN
        for step in range(STEPS):
            value = 1000 * sequence + step
            flags = "s" if step == 0 else "e" if step == STEPS - 1 else ""
            try:
                request = bench.send(sequence, flags, value)
            except InvalidArgument:
                assert sequence in doomed, "only a cancelled sequence is forgotten"
                return
            total += value
            accepted.append(request.id)
            expected[request.id] = total
            if chance.random() < 0.3:
                await asyncio.sleep(chance.random() / 500)
            if chance.random() < 0.03 and bench.scheduler.cancel(request):
                doomed.add(sequence)
                bench.send(1000 + sequence, "se", 1)  # somebody else, who may get the slot
                accepted.append(f"{1000 + sequence}se1")
                expected[accepted[-1]] = BEGIN + 1

    async with asyncio.TaskGroup() as group:
        for sequence in range(1, SEQUENCES + 1):
            group.create_task(one(sequence))
    for sequence in doomed:  # what came before the cancelled request has left its slot to others
        with pytest.raises(InvalidArgument):
            bench.send(sequence, "", 1)
    totals = await bench.answers(len(accepted))
    async with asyncio.timeout(20):
        await bench.scheduler.drain()
    ended = Counter([name for name, _ in bench.sink.delivered + bench.sink.failed])
    assert ended == Counter(accepted)
    assert totals == {name: expected[name] for name in totals}
    assert bench.scheduler.live_sequences == 0
    assert bench.statistics.success_count == len(totals)
    assert bench.statistics.row_count == len(totals)

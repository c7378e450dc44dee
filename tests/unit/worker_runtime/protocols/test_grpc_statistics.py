"""Counters to the statistics message."""

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.core.statistics import BatchCount, MemoryUsage, ResponseCount, Statistics
from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.grpc.admin import Queries, Switches, statistics_message
from worker_runtime.protocols.http.statistics import statistics_body, statistics_json
from worker_runtime.protocols.slices import STATISTICS_AT_ONCE


def given(counters: object, **values: object) -> None:
    for name, value in values.items():
        setattr(counters, name, value)


def test_every_counter_is_in_its_field() -> None:
    statistics, response = Statistics(), ResponseCount()
    given(response, success_count=7, empty_count=6, cancel_count=5, fail_ns=4)
    given(
        statistics,
        success_count=5,
        success_ns=50,
        fail_count=1,
        fail_ns=10,
        queue_ns=11,
        input_ns=12,
        infer_ns=13,
        output_ns=14,
        row_count=8,
        execution_count=3,
        cache_hit_count=2,
        cache_hit_ns=20,
        cache_miss_count=4,
        cache_miss_ns=40,
        last_inference_ms=99,
        batches={4: BatchCount(1, 2, 3, 4), 2: BatchCount(5, 6, 7, 8)},
        responses={0: response},
        memory=(MemoryUsage("CPU", 0, 1024),),
    )
    model: Any = SimpleNamespace(name="m", version=3, statistics=statistics)
    message = statistics_message(model)
    total = message.inference_stats
    assert (message.name, message.version, message.last_inference) == ("m", "3", 99)
    assert (message.inference_count, message.execution_count) == (8, 3)
    assert [(field.name, value.count, value.ns) for field, value in total.ListFields()] == [
        ("success", 5, 50),
        ("fail", 1, 10),
        ("queue", 5, 11),
        ("compute_input", 3, 12),
        ("compute_infer", 3, 13),
        ("compute_output", 3, 14),
        ("cache_hit", 2, 20),
        ("cache_miss", 4, 40),
    ]
    assert [row.batch_size for row in message.batch_stats] == [2, 4]
    assert (
        message.batch_stats[0].compute_infer.count,
        message.batch_stats[0].compute_infer.ns,
    ) == (
        5,
        7,
    )
    first = message.response_stats["0"]
    assert (first.success.count, first.empty_response.count, first.cancel.count) == (7, 6, 5)
    assert first.fail.ns == 4
    usage = message.memory_usage[0]
    assert (usage.type, usage.id, usage.byte_size) == ("CPU", 0, 1024)


def many() -> list[Any]:
    """More than are told of in one go."""
    models = []
    for number in range(30):
        statistics = Statistics()
        statistics.batches = {size: BatchCount(size, 2, 3, 4) for size in range(1, 65)}
        models.append(SimpleNamespace(name=f"m{number}", version=1, statistics=statistics))
    return models


@pytest.mark.parametrize("count", [1, 30])
async def test_many_models_are_told_of_in_slices_as_in_one_piece(count: int) -> None:
    models = many()[:count]
    engine: Any = SimpleNamespace(statistics=lambda _name, _version: models)
    query = Queries(engine).by_name()["ModelStatistics"]
    found = query.answered(b"")
    assert inspect.isawaitable(found) == (count > 1)
    if inspect.isawaitable(found):
        working = asyncio.ensure_future(found)
        turns = 0
        while not working.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns >= 30 * 65 // (STATISTICS_AT_ONCE + 65)
        found = working.result()
    reply = pb.ModelStatisticsResponse.FromString(found.SerializeToString())
    assert list(reply.model_stats) == [statistics_message(model) for model in models]


@pytest.mark.parametrize("count", [0, 1, 30])
def test_over_http_they_are_written_in_slices(count: int) -> None:
    models = many()[:count]
    steps = statistics_body(models)
    turns = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            text = end.value
            break
        turns += 1
    assert text == msgspec.json.encode({"model_stats": [statistics_json(one) for one in models]})
    assert turns == (7 if count == 30 else 0)


@pytest.mark.parametrize("name", ["TraceSetting", "LogSettings"])
def test_far_more_settings_than_there_are_are_refused(name: str) -> None:
    """6,000 of them in 80 KB stopped the loop for 7 to 12 ms."""
    engine: Any = None
    message = getattr(pb, f"{name}Request")()
    for number in range(101):
        message.settings[str(number)].SetInParent()
    with pytest.raises(InvalidArgument) as error:
        Switches(engine).by_name()[name].answered(message.SerializeToString())
    assert str(error.value) == f"101 settings in a {name}Request, expected at most 100"

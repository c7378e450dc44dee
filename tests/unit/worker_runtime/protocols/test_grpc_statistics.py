"""Counters to the statistics message."""

from types import SimpleNamespace
from typing import Any

from worker_runtime.core.statistics import BatchCount, MemoryUsage, ResponseCount, Statistics
from worker_runtime.protocols.grpc.admin import statistics_message


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

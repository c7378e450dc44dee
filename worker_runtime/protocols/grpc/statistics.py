"""Model statistics as protobuf (nanoseconds)."""

from typing import Any

from worker_runtime.protocols.engine import Model
from worker_runtime.types.triton_messages import service_pb2 as pb


def statistics_message(model: Model) -> Any:
    stats = model.statistics
    message = pb.ModelStatistics(
        name=model.name,
        version=str(model.version),
        last_inference=stats.last_inference_ms,
        inference_count=stats.row_count,
        execution_count=stats.execution_count,
    )
    done, total = stats.success_count, message.inference_stats
    computed = done - stats.cache_hit_count
    for target, count, ns in (
        (total.success, done, stats.success_ns),
        (total.fail, stats.fail_count, stats.fail_ns),
        (total.queue, done, stats.queue_ns),
        (total.compute_input, computed, stats.input_ns),
        (total.compute_infer, computed, stats.infer_ns),
        (total.compute_output, computed, stats.output_ns),
        (total.cache_hit, stats.cache_hit_count, stats.cache_hit_ns),
        (total.cache_miss, stats.cache_miss_count, stats.cache_miss_ns),
    ):
        _set(target, count, ns)
    for size, batch in sorted(stats.batches.items()):
        row = message.batch_stats.add(batch_size=size)
        _set(row.compute_input, batch.count, batch.input_ns)
        _set(row.compute_infer, batch.count, batch.infer_ns)
        _set(row.compute_output, batch.count, batch.output_ns)
    for usage in stats.memory:
        message.memory_usage.add(type=usage.kind, id=usage.device, byte_size=usage.byte_size)
    for index, answers in sorted(stats.responses.items()):
        entry = message.response_stats[str(index)]
        _set(entry.compute_infer, answers.infer_count, answers.infer_ns)
        _set(entry.compute_output, answers.output_count, answers.output_ns)
        _set(entry.success, answers.success_count, answers.success_ns)
        _set(entry.fail, answers.fail_count, answers.fail_ns)
        _set(entry.empty_response, answers.empty_count, answers.empty_ns)
        _set(entry.cancel, answers.cancel_count, answers.cancel_ns)
    return message


def _set(target: Any, count: int, ns: int) -> None:
    target.count, target.ns = count, ns

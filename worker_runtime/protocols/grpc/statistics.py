"""Model statistics as protobuf (nanoseconds)."""

from typing import Any

from tritonclient.grpc import service_pb2 as pb

from worker_runtime.core.model import ModelVersion


def statistics_message(model: ModelVersion) -> Any:
    stats = model.statistics
    message = pb.ModelStatistics(
        name=model.name,
        version=str(model.version),
        last_inference=stats.last_inference_ms,
        inference_count=stats.row_count,
        execution_count=stats.execution_count,
    )
    done, total = stats.success_count, message.inference_stats
    for target, count, ns in (
        (total.success, done, stats.success_ns),
        (total.fail, stats.fail_count, stats.fail_ns),
        (total.queue, done, stats.queue_ns),
        (total.compute_input, done, stats.input_ns),
        (total.compute_infer, done, stats.infer_ns),
        (total.compute_output, done, stats.output_ns),
        (total.cache_hit, 0, 0),
        (total.cache_miss, 0, 0),
    ):
        target.count, target.ns = count, ns
    for size, batch in sorted(stats.batches.items()):
        row = message.batch_stats.add(batch_size=size)
        for target, ns in (
            (row.compute_input, batch.input_ns),
            (row.compute_infer, batch.infer_ns),
            (row.compute_output, batch.output_ns),
        ):
            target.count, target.ns = batch.count, ns
    return message

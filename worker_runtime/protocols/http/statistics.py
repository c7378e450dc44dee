"""Model statistics in the JSON form of Triton's statistics extension (nanoseconds)."""

from collections.abc import Sequence
from typing import Any

from worker_runtime.protocols.engine import Model
from worker_runtime.protocols.http.tensors import encode_response
from worker_runtime.protocols.slices import STATISTICS_AT_ONCE, Steps


def statistics_body(models: Sequence[Model]) -> Steps[bytes]:
    """The whole answer, in slices: what it tells of one model is of one moment."""
    parts: list[bytes] = []
    rows = 0
    for model in models:
        if rows >= STATISTICS_AT_ONCE:
            rows = 0
            yield None
        rows += model.statistics.rows
        parts.append(encode_response(statistics_json(model), finite=True))
    return b'{"model_stats":[%b]}' % b",".join(parts)


def statistics_json(model: Model) -> dict[str, Any]:
    stats = model.statistics
    done = stats.success_count
    computed = done - stats.cache_hit_count
    return {
        "name": model.name,
        "version": str(model.version),
        "last_inference": stats.last_inference_ms,
        "inference_count": stats.row_count,
        "execution_count": stats.execution_count,
        "inference_stats": {
            "success": _duration(done, stats.success_ns),
            "fail": _duration(stats.fail_count, stats.fail_ns),
            "queue": _duration(done, stats.queue_ns),
            "compute_input": _duration(computed, stats.input_ns),
            "compute_infer": _duration(computed, stats.infer_ns),
            "compute_output": _duration(computed, stats.output_ns),
            "cache_hit": _duration(stats.cache_hit_count, stats.cache_hit_ns),
            "cache_miss": _duration(stats.cache_miss_count, stats.cache_miss_ns),
        },
        "response_stats": {
            str(index): {
                "compute_infer": _duration(row.infer_count, row.infer_ns),
                "compute_output": _duration(row.output_count, row.output_ns),
                "success": _duration(row.success_count, row.success_ns),
                "fail": _duration(row.fail_count, row.fail_ns),
                "empty_response": _duration(row.empty_count, row.empty_ns),
                "cancel": _duration(row.cancel_count, row.cancel_ns),
            }
            for index, row in sorted(stats.responses.items())
        },
        "batch_stats": [
            {
                "batch_size": size,
                "compute_input": _duration(batch.count, batch.input_ns),
                "compute_infer": _duration(batch.count, batch.infer_ns),
                "compute_output": _duration(batch.count, batch.output_ns),
            }
            for size, batch in sorted(stats.batches.items())
        ],
        "memory_usage": [
            {"type": usage.kind, "id": usage.device, "byte_size": usage.byte_size * stats.copies}
            for usage in stats.memory
        ],
    }


def _duration(count: int, ns: int) -> dict[str, int]:
    return {"count": count, "ns": ns}

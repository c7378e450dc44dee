"""Reads a runtime's `/metrics` into the counters that travel to the control plane."""

from collections.abc import Iterable

import httpx
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from wire.messages import ModelCounters

TIMEOUT_S = 2.0
# Metric of the runtime -> field of ModelCounters.
COUNTERS = {
    "nv_inference_request_success": "request_success",
    "nv_inference_count": "inference_count",
    "nv_inference_exec_count": "exec_count",
    "nv_inference_request_duration_us": "request_duration_us",
    "nv_inference_queue_duration_us": "queue_duration_us",
    "nv_inference_compute_input_duration_us": "compute_input_duration_us",
    "nv_inference_compute_infer_duration_us": "compute_infer_duration_us",
    "nv_inference_compute_output_duration_us": "compute_output_duration_us",
    "nv_inference_pending_request_count": "pending_request_count",
}
FAILURES = "nv_inference_request_failure"
BATCHES = "shoal_inference_batch_size"


async def scrape(client: httpx.AsyncClient, host: str, port: int) -> tuple[ModelCounters, ...]:
    """The counters of every model of one runtime. Raises httpx.HTTPError, ValueError."""
    response = await client.get(f"http://{host}:{port}/metrics", timeout=TIMEOUT_S)
    return parse(response.raise_for_status().text)


def parse(text: str) -> tuple[ModelCounters, ...]:
    """Prometheus text to counters, one per model and version. Raises ValueError."""
    families = text_string_to_metric_families(text)
    return collect(sample for family in families for sample in family.samples)


def collect(samples: Iterable[Sample]) -> tuple[ModelCounters, ...]:
    plain: dict[tuple[str, str], dict[str, float]] = {}
    failures: dict[tuple[str, str], dict[str, float]] = {}
    batches: dict[tuple[str, str], dict[str, float]] = {}
    for sample in samples:
        # why: the parser gives every counter the suffix of OpenMetrics, Triton names them without.
        name = sample.name.removesuffix("_total")
        key = (sample.labels.get("model", ""), sample.labels.get("version", ""))
        if name in COUNTERS:
            _add(plain, key, COUNTERS[name], sample.value)
        elif name == FAILURES:
            _add(failures, key, sample.labels.get("reason", "OTHER"), sample.value)
        elif name == BATCHES:
            _add(batches, key, sample.labels.get("batch_size", ""), sample.value)
    return tuple(
        ModelCounters(
            model=model,
            version=version,
            request_failure=failures.get((model, version), {}),
            batch_counts=batches.get((model, version), {}),
            **plain.get((model, version), {}),
        )
        for model, version in sorted(plain.keys() | failures.keys() | batches.keys())
    )


def _add(
    table: dict[tuple[str, str], dict[str, float]], key: tuple[str, str], name: str, value: float
) -> None:
    """Instances of one model may be labelled apart (by GPU): they add up."""
    row = table.setdefault(key, {})
    row[name] = row.get(name, 0.0) + value

"""Reads a runtime's `/metrics` into the counters that travel to the control plane."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import httpx
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from node_agent import answers
from wire.codec import LARGEST
from wire.samples import ModelCounters

TIMEOUT_S = 2.0
INTERVAL_S: Final = 2.0  # between samples where nobody watches
LIMIT_BYTES: Final = 4 << 20  # some thousand models
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
    "nv_cache_num_hits_per_model": "cache_hits",
    "nv_cache_num_misses_per_model": "cache_misses",
    "nv_model_load_duration_secs": "load_seconds",
    "shoal_instance_busy_us": "busy_us",
    "shoal_gpu_out_of_memory": "gpu_out_of_memory",
    "shoal_error_answers": "error_answers",
    "shoal_model_instances": "instances",
}
# Metric of the runtime -> field of ModelCounters that is a table, and the label that is its key.
TABLES = {
    "nv_inference_request_failure": ("request_failure", "reason"),
    "nv_inference_first_response_histogram_ms_bucket": ("first_response", "le"),
    "shoal_inference_batch_size": ("batch_counts", "batch_size"),
    "shoal_inference_batch_compute_us": ("batch_compute_us", "batch_size"),
    "shoal_model_calls": ("calls", "callee"),
    "shoal_model_call_failures": ("call_failures", "callee"),
    "shoal_model_call_us": ("call_us", "callee"),
    "shoal_model_last_call_timestamp_seconds": ("last_call", "callee"),
}
STEP = "shoal_model_is_step"
LAG_COUNT: Final = "shoal_loop_lag_seconds_count"
LAG_SUM: Final = "shoal_loop_lag_seconds_sum"
LAG: Final = (f"{LAG_COUNT} ", f"{LAG_SUM} ")
Key = tuple[str, str]  # model, version


# A line that begins otherwise is nothing of ours: most of them, and parsing is what a sample costs.
_WANTED: Final = tuple(name for names in (COUNTERS, TABLES, (STEP,)) for name in names)


@dataclass(frozen=True, slots=True)
class Scraped:
    """``models``: Prometheus text, the lines that ``parse`` needs. How late the runtime's event
    loop was is apart from it: that changes while nothing is asked."""

    models: str
    loop_looks: float
    loop_late_s: float


async def scrape(client: httpx.AsyncClient, host: str, port: int) -> Scraped:
    """What one runtime says. Raises httpx.HTTPError, ValueError for a number that is none."""
    response = await client.get(
        f"http://{host}:{port}/metrics",
        timeout=TIMEOUT_S,
        extensions={answers.MOST_BYTES: LIMIT_BYTES},
    )
    lines = response.raise_for_status().text.split("\n")
    words = [line.split(" ") for line in lines if line.startswith(LAG)]
    lag = {name: _counted(name, float(value)) for name, value in words}
    return Scraped(
        "\n".join(line for line in lines if line.startswith(_WANTED)) + "\n",
        lag.get(LAG_COUNT, 0.0),
        lag.get(LAG_SUM, 0.0),
    )


def parse(text: str) -> tuple[ModelCounters, ...]:
    """Prometheus text to counters, one per model and version. Raises ValueError."""
    families = text_string_to_metric_families(text)
    return collect(sample for family in families for sample in family.samples)


def collect(samples: Iterable[Sample]) -> tuple[ModelCounters, ...]:
    plain: dict[Key, dict[str, float]] = {}
    tables: dict[Key, dict[str, dict[str, float]]] = {}
    steps: set[Key] = set()
    for sample in samples:
        # why: the parser gives every counter the suffix of OpenMetrics, Triton names them without.
        name = sample.name.removesuffix("_total")
        key = (sample.labels.get("model", ""), sample.labels.get("version", ""))
        if name in COUNTERS:
            _add(plain.setdefault(key, {}), COUNTERS[name], sample.value)
        elif name in TABLES:
            table, label = TABLES[name]
            rows = tables.setdefault(key, {}).setdefault(table, {})
            _add(rows, sample.labels.get(label, "OTHER"), sample.value)
        elif name == STEP and sample.value:
            steps.add(key)
    return tuple(
        ModelCounters(
            model=key[0],
            version=key[1],
            step=key in steps,
            **plain.get(key, {}),  # type: ignore[arg-type] # no other field is named in COUNTERS
            **tables.get(key, {}),  # type: ignore[arg-type] # nor in TABLES
        )
        for key in sorted(plain.keys() | tables.keys())
    )


def _add(row: dict[str, float], name: str, value: float) -> None:
    """Instances of one model may be labelled apart (by GPU): they add up.

    Raises ValueError for what no message carries: it would keep back those of other replicas.
    """
    row[name] = _counted(name, row.get(name, 0.0) + value)


def _counted(name: str, total: float) -> float:
    if not 0 <= total <= LARGEST:
        raise ValueError(f"{name}: expected a number from 0 to {LARGEST}, got {total}")
    return total

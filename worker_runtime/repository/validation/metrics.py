"""model_metrics: metrics that a model wants in another form."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.validation.findings import finding

_CUSTOMIZABLE = ("nv_inference_first_response_histogram_ms",)


def check_metrics(config: Any) -> Iterator[Problem]:
    for index, control in enumerate(config.model_metrics.metric_control):
        field = f"model_metrics[0].metric_control[{index}]"
        if not control.HasField("metric_identifier"):
            yield finding(field, "metric control must specify 'metric_identifier'")
        elif not control.metric_identifier.family:
            yield finding(
                f"{field}.metric_identifier", "metric identifier must specify non-empty 'family'"
            )
        elif control.metric_identifier.family not in _CUSTOMIZABLE:
            family = control.metric_identifier.family
            yield finding(
                f"{field}.metric_identifier[0].family",
                f"Metric family '{family}' in 'metric_identifier' is not a customizable metric in "
                "Triton core.",
                severity="warning",
                got=family,
                expected=", ".join(_CUSTOMIZABLE),
            )
        if not control.HasField("histogram_options"):
            yield finding(field, "metric control must specify 'histogram_options'")
        elif not control.histogram_options.buckets:
            yield finding(
                f"{field}.histogram_options", "histogram options must specify non-empty 'buckets'"
            )

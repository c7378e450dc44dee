"""Writes the Grafana dashboards beside this file: `python deploy/grafana/build.py`.

Panels are rows of a table here, so that a formula stands once and JSON is never edited by hand.
Formulas are those of the studio (docs/metrics.md).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT = 8, 8  # three panels in a row of Grafana's 24 columns


@dataclass(frozen=True)
class Panel:
    title: str
    queries: dict[str, str]  # legend -> PromQL
    unit: str  # Grafana's name of it
    description: str = ""
    kind: str = "timeseries"  # or "stat"
    stacked: bool = False


@dataclass(frozen=True)
class Dashboard:
    name: str  # of the file
    title: str
    variables: dict[str, str]  # name -> PromQL of its values
    panels: tuple[Panel, ...]


AT_GATEWAY = 'endpoint=~"$endpoint", deployment=~"$deployment"'
IN_RUNTIME = f'{AT_GATEWAY}, model=~"$model"'


def rate(name: str, where: str = IN_RUNTIME, by: str = "deployment") -> str:
    return f"sum by ({by}) (rate({name}{{{where}}}[$__rate_interval]))"


def share(part: str, whole: str) -> str:
    """Nothing, and not NaN, while nothing happens."""
    return f"{part} / ({whole} > 0)"


def mean_us(name: str) -> str:
    """Seconds per request of one of the runtime's counters of microseconds."""
    spent = rate(f"nv_inference_{name}_duration_us", by="model")
    return share(f"1e-6 * {spent}", rate("nv_inference_request_success", by="model"))


def gateway_quantile(share_of: float) -> str:
    buckets = rate("shoal_gateway_request_seconds_bucket", AT_GATEWAY, "deployment, le")
    return f"histogram_quantile({share_of}, {buckets})"


def runtime_quantile(share_of: float) -> str:
    buckets = rate("shoal_inference_request_seconds_bucket", by="model, le")
    return f"histogram_quantile({share_of}, {buckets})"


ANSWERS = "shoal_gateway_answers_total"
BAD = f'{AT_GATEWAY}, status_class=~"4xx|5xx"'

ENDPOINTS = Dashboard(
    "endpoints",
    "Shoal: endpoints",
    {
        "endpoint": f"label_values({ANSWERS}, endpoint)",
        "deployment": f'label_values({ANSWERS}{{endpoint=~"$endpoint"}}, deployment)',
    },
    (
        Panel("Requests", {"requests": f"sum({rate(ANSWERS, AT_GATEWAY)})"}, "reqps", kind="stat"),
        Panel(
            "Failed",
            {"failed": share(f"sum({rate(ANSWERS, BAD)})", f"sum({rate(ANSWERS, AT_GATEWAY)})")},
            "percentunit",
            "Share of answers 4xx and 5xx, as clients saw them",
            kind="stat",
        ),
        Panel("Replicas", {"{{state}}": "sum by (state) (shoal_replicas)"}, "short", kind="stat"),
        Panel("Requests by deployment", {"{{deployment}}": rate(ANSWERS, AT_GATEWAY)}, "reqps"),
        Panel(
            "Answers by class",
            {"{{status_class}}": rate(ANSWERS, AT_GATEWAY, "status_class")},
            "reqps",
            stacked=True,
        ),
        Panel(
            "Failed by deployment",
            {"{{deployment}}": share(rate(ANSWERS, BAD), rate(ANSWERS, AT_GATEWAY))},
            "percentunit",
        ),
        *(
            Panel(
                f"p{round(100 * part)} at the gateway",
                {"{{deployment}}": gateway_quantile(part)},
                "s",
                "From a histogram with 15 bounds: between two of them it is a guess",
            )
            for part in (0.5, 0.95, 0.99)
        ),
        Panel(
            "Bodies received",
            {"{{deployment}}": rate("shoal_gateway_received_bytes_total", AT_GATEWAY)},
            "Bps",
        ),
        Panel(
            "Bodies sent",
            {"{{deployment}}": rate("shoal_gateway_sent_bytes_total", AT_GATEWAY)},
            "Bps",
        ),
        Panel("Deployments", {"{{state}}": "sum by (state) (shoal_deployments)"}, "short"),
    ),
)

SUCCESS = "nv_inference_request_success"
MODELS = Dashboard(
    "models",
    "Shoal: models (also of a Triton, with its own labels)",
    {
        "endpoint": f"label_values({SUCCESS}, endpoint)",
        "deployment": f'label_values({SUCCESS}{{endpoint=~"$endpoint"}}, deployment)',
        "model": f'label_values({SUCCESS}{{endpoint=~"$endpoint"}}, model)',
    },
    (
        Panel("Requests", {"{{model}}": rate(SUCCESS, by="model")}, "reqps"),
        Panel("Rows", {"{{model}}": rate("nv_inference_count", by="model")}, "rowsps"),
        Panel(
            "Failures",
            {"{{model}} {{reason}}": rate("nv_inference_request_failure", by="model, reason")},
            "reqps",
        ),
        Panel(
            "Rows per execution",
            {
                "{{model}}": share(
                    rate("nv_inference_count", by="model"),
                    rate("nv_inference_exec_count", by="model"),
                )
            },
            "short",
            "What dynamic batching achieves",
        ),
        Panel(
            "Executions by batch size",
            {"{{batch_size}}": rate("shoal_inference_batch_size_total", by="batch_size")},
            "ops",
            stacked=True,
        ),
        Panel(
            "Waiting",
            {"{{model}}": f"sum by (model) (nv_inference_pending_request_count{{{IN_RUNTIME}}})"},
            "short",
            "Requests that do not execute yet",
        ),
        Panel(
            "Mean time of a request",
            {
                f"{{{{model}}}} {text}": mean_us(name)
                for name, text in {
                    "queue": "waits",
                    "compute_input": "input",
                    "compute_infer": "model",
                    "compute_output": "output",
                }.items()
            },
            "s",
            stacked=True,
        ),
        Panel(
            "Time of a request",
            {
                f"{{{{model}}}} p{round(100 * part)}": runtime_quantile(part)
                for part in (0.5, 0.95, 0.99)
            },
            "s",
        ),
        Panel(
            "Instances at work",
            {
                "{{model}}": share(
                    f"1e-6 * {rate('shoal_instance_busy_us_total', by='model')}",
                    f"sum by (model) (shoal_model_instances{{{IN_RUNTIME}}})",
                )
            },
            "percentunit",
        ),
        Panel(
            "Answers from the cache",
            {
                "{{model}}": share(
                    rate("nv_cache_num_hits_per_model", by="model"),
                    f"({rate('nv_cache_num_hits_per_model', by='model')}"
                    f" + {rate('nv_cache_num_misses_per_model', by='model')})",
                )
            },
            "percentunit",
        ),
        Panel(
            "GPU at work",
            {"{{gpu_uuid}}": "max by (gpu_uuid) (nv_gpu_utilization)"},
            "percentunit",
        ),
        Panel(
            "GPU memory",
            {
                "{{gpu_uuid}}": "max by (gpu_uuid) (nv_gpu_memory_used_bytes)",
                "{{gpu_uuid}} all": "max by (gpu_uuid) (nv_gpu_memory_total_bytes)",
            },
            "bytes",
        ),
        Panel("GPU power", {"{{gpu_uuid}}": "max by (gpu_uuid) (nv_gpu_power_usage)"}, "watt"),
        Panel(
            "Time to load",
            {"{{model}}": f"max by (model) (nv_model_load_duration_secs{{{IN_RUNTIME}}})"},
            "s",
        ),
        Panel(
            "Memory of models, estimated",
            {
                "{{model}} {{type}}": "sum by (model, type) "
                f"(shoal_model_memory_bytes{{{IN_RUNTIME}}})"
            },
            "bytes",
        ),
    ),
)

CONTROL_PLANE = Dashboard(
    "control-plane",
    "Shoal: control plane",
    {},
    (
        Panel("Nodes", {"{{state}}": "sum by (state) (shoal_nodes)"}, "short", kind="stat"),
        Panel("Endpoints", {"{{state}}": "sum by (state) (shoal_endpoints)"}, "short", kind="stat"),
        Panel(
            "Operations",
            {"{{state}}": "sum by (state) (shoal_operations)"},
            "short",
            "All that are recorded, by how they ended or how far they are",
            kind="stat",
        ),
        Panel(
            "Requests",
            {"{{status}}": rate("shoal_http_request_seconds_count", "", "status")},
            "reqps",
            stacked=True,
        ),
        Panel(
            "Slowest routes, p95",
            {
                "{{method}} {{route}}": "topk(8, histogram_quantile(0.95, "
                + rate("shoal_http_request_seconds_bucket", "", "method, route, le")
                + "))"
            },
            "s",
        ),
        Panel(
            "Age of the newest sample",
            {
                "replicas": "shoal_replica_sample_age_seconds",
                "gateways": "shoal_gateway_sample_age_seconds",
                "nodes": "shoal_node_sample_age_seconds",
                "minutes": "shoal_roll_up_age_seconds",
            },
            "s",
            "Some seconds are healthy, minutes for the roll-up",
        ),
        Panel("Events", {"events": "rate(shoal_events_total[$__rate_interval])"}, "ops"),
        Panel(
            "Live views",
            {"topics": "shoal_live_topics", "sockets": "shoal_live_followers"},
            "short",
        ),
        Panel(
            "Memory of the web process",
            {"resident": 'process_resident_memory_bytes{job="shoal"}'},
            "bytes",
        ),
    ),
)

DASHBOARDS = (ENDPOINTS, MODELS, CONTROL_PLANE)


def written(dashboard: Dashboard) -> dict[str, Any]:
    """A dashboard as Grafana 10 and later import it."""
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}
    return {
        "uid": f"shoal-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["shoal"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [source, *(variable(*one) for one in dashboard.variables.items())]},
        "panels": [panel(number, one) for number, one in enumerate(dashboard.panels)],
    }


def variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "sort": 1,
    }


def panel(number: int, one: Panel) -> dict[str, Any]:
    per_row = 24 // WIDTH
    options: dict[str, Any] = {"legend": {"showLegend": True, "placement": "bottom"}}
    custom: dict[str, Any] = {"fillOpacity": 10, "showPoints": "never", "spanNulls": False}
    if one.stacked:
        custom |= {"stacking": {"mode": "normal"}, "fillOpacity": 30}
    if one.kind == "stat":
        options = {"reduceOptions": {"calcs": ["lastNotNull"]}, "textMode": "value_and_name"}
        custom = {}
    return {
        "id": number + 1,
        "title": one.title,
        "description": one.description,
        "type": one.kind,
        "datasource": SOURCE,
        "gridPos": {
            "x": number % per_row * WIDTH,
            "y": number // per_row * HEIGHT,
            "w": WIDTH,
            "h": HEIGHT,
        },
        "fieldConfig": {
            "defaults": {"unit": one.unit, "min": 0, "custom": custom},
            "overrides": [],
        },
        "options": options,
        "targets": [
            {"refId": chr(ord("A") + at), "datasource": SOURCE, "expr": query, "legendFormat": name}
            for at, (name, query) in enumerate(one.queries.items())
        ],
    }


def text_of(dashboard: Dashboard) -> str:
    return json.dumps(written(dashboard), indent=1) + "\n"


def main() -> None:
    for dashboard in DASHBOARDS:
        (HERE / f"{dashboard.name}.json").write_text(text_of(dashboard))


if __name__ == "__main__":
    main()

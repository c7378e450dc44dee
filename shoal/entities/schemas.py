"""What endpoint, deployment and model files may say, and what becomes of every key."""

from dataclasses import fields
from typing import Final

from shoal.entities.keys import (
    Key,
    Table,
    Use,
    anything,
    block,
    boolean,
    choice,
    integer,
    listing,
    mapping,
    moment,
    number,
    or_none,
    reference,
    shares,
    string_map,
    switch,
    text,
    text_or,
    threshold_about,
)
from shoal.entities.settings import OnlineRequestSettings, OwnSettings

AUTH_MODES: Final = ("key", "aml_token", "aad_token")
MODEL_TYPES: Final = ("custom_model", "mlflow_model", "triton_model")

# What `show` prints and a file may therefore carry, but nobody sets.
SHOWN_OF_DEPLOYMENT: Final = dict.fromkeys(
    ("id", "provisioning_state", "serving_state", "autoscaling", "scoring_uri")
)
SHOWN_OF_ENDPOINT: Final = dict.fromkeys((*SHOWN_OF_DEPLOYMENT, "openapi_uri", "grpc_target"))
SHOWN_OF_MODEL: Final = dict.fromkeys(("id", "creation_context"))
SHOWN_OF_LINEAGE: Final = (
    *("kind", "revision", "etag", "repository", "experiment", "by", "at"),
    *("stated", "stated_by", "stated_at"),
)
SHOWN_OF_ROLLOUT: Final = (
    *("id", "state", "percent", "previous_traffic", "reason", "cause", "missing_requests"),
    *("figures", "latency", "compared", "golden", "judged_at", "paused_by", "created_by"),
    *("answers_checked", "created_at", "ended_by", "finished_at"),
)
SHOWN_OF_STAGE: Final = ("mirror", "status", "started_at", "ended_at", "requests")
SHOWN_OF_SILENCE: Final = ("id", "starts_at", "created_by")
# clear_s is built in as well; what a file says of it must be what it is (AlertRule.faults)
SHOWN_OF_ALERT_RULE: Final = (
    *("title", "about", "default_threshold", "unit", "runbook", "steps", "kinds"),
)
SHOWN_OF_ALERT_THRESHOLD: Final = (
    *("rule", "effective", "source", "installation", "unit", "changed_by", "changed_at", "etag"),
)
SHOWN_OF_CHANNEL: Final = ("address", "signed", "created_by", "created_at", "updated_at")

COMMON: Final[Table] = {
    "$schema": Key(text),
    "name": Key(text),
    "description": Key(text),
    "tags": Key(string_map),
    "properties": Key(string_map),
}

IDENTITY: Final[Table] = {
    "type": Key(choice("system_assigned", "user_assigned", "none")),
    "user_assigned_identities": Key(listing(anything)),
    "principal_id": Key(text),
    "tenant_id": Key(text),
}

RATE_LIMIT: Final[Table] = {
    "requests_per_second": Key(integer),
    "burst": Key(integer),
    "per": Key(choice("endpoint", "key")),
}

TRAFFIC_RULE: Final[Table] = {
    "header": Key(text),
    "exact": Key(text),
    "prefix": Key(text),
    "regex": Key(text),
    "present": Key(boolean),
    "deployment": Key(text),
}
STICKY: Final[Table] = {"header": Key(text), "cookie": Key(text), "max_age_s": Key(integer)}
# As REST takes it; what is out of range is its business to say.
OBJECTIVE: Final[Table] = {
    "name": Key(text),
    "kind": Key(choice("availability", "latency")),
    "target_percent": Key(number),
    "window_days": Key(integer),
    "threshold_ms": Key(number),
}

ENDPOINT: Final[Table] = {
    **COMMON,
    "auth_mode": Key(choice(*AUTH_MODES)),
    "project": Key(text),
    "traffic": Key(shares),
    "mirror_traffic": Key(shares),
    "cors_origins": Key(listing(text)),
    "max_request_bytes": Key(integer),
    "rate_limit": Key(block(RATE_LIMIT)),
    "traffic_rules": Key(listing(block(TRAFFIC_RULE))),
    "sticky": Key(block(STICKY)),
    "objectives": Key(listing(block(OBJECTIVE))),
    "public_network_access": Key(
        choice("enabled", "disabled"),
        Use.KEEP,
        "the gateway's addresses are set for the whole installation (docs/settings.md)",
    ),
    "compute": Key(text, Use.KEEP, "replicas go wherever a node has room"),
    "identity": Key(block(IDENTITY), Use.KEEP, "there are no cloud identities here"),
    "location": Key(text, Use.KEEP, "there are no regions here"),
    "kind": Key(text, Use.KEEP),
    **{name: Key(anything, Use.KEEP) for name in SHOWN_OF_ENDPOINT},
}

LINEAGE: Final[Table] = {
    **{name: Key(text) for name in ("address", "run", "run_url", "commit", "dataset")},
    **{name: Key(anything, Use.KEEP) for name in SHOWN_OF_LINEAGE},
}

MODEL: Final[Table] = {
    **COMMON,
    "version": Key(text),
    "project": Key(text),
    "path": Key(text),
    "type": Key(choice(*MODEL_TYPES)),
    "stage": Key(text, Use.KEEP),
    "flavors": Key(mapping(anything), Use.KEEP),
    "lineage": Key(block(LINEAGE)),
    "job_name": Key(text, Use.MAP),  # lineage.run
    "datastore": Key(text, Use.KEEP, "files are kept by the installation itself"),
    **{name: Key(anything, Use.KEEP) for name in SHOWN_OF_MODEL},
}

PROBE: Final[Table] = {
    name: Key(integer)
    for name in ("initial_delay", "period", "timeout", "success_threshold", "failure_threshold")
}
ROUTE: Final[Table] = {"path": Key(text), "port": Key(integer)}
ENVIRONMENT: Final[Table] = {
    **COMMON,
    "version": Key(text),
    "image": Key(text),
    "build": Key(anything),
    "conda_file": Key(anything),
    "datastore": Key(text),
    "os_type": Key(text),
    "inference_config": Key(
        block(
            {
                "liveness_route": Key(block(ROUTE)),
                "readiness_route": Key(block(ROUTE)),
                "scoring_route": Key(block(ROUTE)),
            }
        )
    ),
}
RESOURCES: Final[Table] = {name: Key(text) for name in ("cpu", "memory", "gpu", "nvidia.com/gpu")}
COLLECTION: Final[Table] = {
    "enabled": Key(switch),
    "data": Key(anything),
    "client_id": Key(text),
}
OWN_PROBES = "a replica that starts is probed by its agent, every tenth of a second"

SCALING: Final[Table] = {
    "type": Key(choice("default", "target_utilization")),
    **{
        name: Key(integer)
        for name in (
            "min_instances",
            "max_instances",
            "polling_interval",
            "target_utilization_percentage",
        )
    },
}


SIDE: Final[Table] = {name: Key(integer) for name in ("window_s", "cooldown_s", "per_minute")}
IDLE: Final[Table] = {name: Key(integer) for name in ("after_s", "hold_s", "most_held")}
# As REST takes it; what is out of range is its business to say.
AUTOSCALE: Final[Table] = {
    "enabled": Key(boolean),
    "min": Key(integer),
    "max": Key(integer),
    "targets": Key(
        block(
            {
                name: Key(number)
                for name in (
                    "in_flight",
                    "requests_per_second",
                    "queue_ms",
                    "cpu_percent",
                    "gpu_percent",
                )
            }
        )
    ),
    "tolerance_percent": Key(integer),
    "interval_s": Key(integer),
    "up": Key(block(SIDE)),
    "down": Key(block(SIDE)),
    "idle": Key(block(IDLE)),
    "schedules": Key(
        listing(
            block(
                {
                    **{name: Key(text) for name in ("start", "end", "time_zone")},
                    **{name: Key(integer) for name in ("min", "max")},
                }
            )
        )
    ),
}

DEPLOYMENT: Final[Table] = {
    **COMMON,
    "endpoint_name": Key(text),
    "type": Key(choice("managed", "kubernetes")),
    "model": Key(text_or(block(MODEL))),
    "instance_count": Key(integer),
    "environment_variables": Key(string_map),
    "request_settings": Key(
        block({part.name: Key(integer) for part in fields(OnlineRequestSettings)})
    ),
    **{part.name: Key(integer) for part in fields(OwnSettings)},
    "liveness_probe": Key(block(PROBE)),
    "readiness_probe": Key(block(PROBE)),
    "startup_probe": Key(block(PROBE), Use.KEEP, OWN_PROBES),
    "autoscale": Key(block(AUTOSCALE)),
    "scale_settings": Key(block(SCALING), Use.MAP),
    "instance_type": Key(text, Use.MAP),
    "resources": Key(
        block({"requests": Key(block(RESOURCES)), "limits": Key(block(RESOURCES))}),
        Use.KEEP,
        "replicas share their node's cores, memory and GPUs",
    ),
    "app_insights_enabled": Key(boolean, Use.MAP),
    "data_collector": Key(
        block(
            {
                "sampling_rate": Key(number),
                "rolling_rate": Key(text),
                "collections": Key(mapping(block(COLLECTION))),
                "request_logging": Key(block({"capture_headers": Key(listing(text))})),
            }
        ),
        Use.MAP,
    ),
    "capture": Key(
        block(
            {
                "sampling_rate": Key(number),
                **{name: Key(listing(text)) for name in ("collections", "fields", "drop", "hash")},
                **{
                    name: Key(integer)
                    for name in ("max_request_bytes", "roll_seconds", "keep_days", "keep_bytes")
                },
            }
        )
    ),
    "model_mount_path": Key(text, Use.KEEP),
    "environment": Key(text_or(block(ENVIRONMENT)), Use.MAP),
    "code_configuration": Key(block({"code": Key(text), "scoring_script": Key(text)}), Use.MAP),
    "code_path": Key(text, Use.MAP),
    "scoring_script": Key(text, Use.MAP),
    "egress_public_network_access": Key(
        choice("enabled", "disabled"), Use.KEEP, "what a node may reach is the network's business"
    ),
    "private_network_connection": Key(anything, Use.KEEP, "there are no virtual networks here"),
    **{name: Key(anything, Use.KEEP) for name in SHOWN_OF_DEPLOYMENT},
}

# Rollouts, silences, rules and channels have REST's names; what is out of range is its business to
# say.
STEP: Final[Table] = {"percent": Key(integer), "hold_s": Key(integer)}
GUARDRAIL: Final[Table] = {"tolerance": Key(number), "confidence": Key(number)}
SHADOW: Final[Table] = {"percent": Key(integer), "hold_s": Key(integer)}
COMPARE: Final[Table] = {
    "per_minute": Key(integer),
    "by": Key(choice("values", "best_class")),
    "relative": Key(number),
    "absolute": Key(number),
    "sources": Key(listing(choice("cases", "random", "captured"))),
    "captured_hours": Key(integer),
}
ROLLOUT: Final[Table] = {
    "$schema": Key(text),
    "endpoint": Key(text),
    "deployment": Key(text),
    "steps": Key(listing(block(STEP))),
    # as `show` has them, which are its steps
    "stages": Key(listing(block({**STEP, **dict.fromkeys(SHOWN_OF_STAGE, Key(anything))}))),
    "min_requests": Key(integer),
    "guardrails": Key(mapping(or_none(block(GUARDRAIL)))),
    "compare": Key(block(COMPARE)),
    "strategy": Key(choice("steps", "blue_green")),
    "shadow": Key(or_none(block(SHADOW))),
    **dict.fromkeys(SHOWN_OF_ROLLOUT, Key(anything, Use.KEEP)),
}

SILENCE: Final[Table] = {
    "$schema": Key(text),
    "rule": Key(text),
    "subject": Key(text),
    "project": Key(text),
    "reason": Key(text),
    "ends_at": Key(moment),
    "duration": Key(text),
    **dict.fromkeys(SHOWN_OF_SILENCE, Key(anything, Use.KEEP)),
}

ALERT_THRESHOLD: Final[Table] = {
    "about": Key(threshold_about),
    "threshold": Key(number),
    **dict.fromkeys(SHOWN_OF_ALERT_THRESHOLD, Key(anything, Use.KEEP)),
}

ALERT_RULE: Final[Table] = {
    "$schema": Key(text),
    "name": Key(text),
    "enabled": Key(boolean),
    "threshold": Key(number),
    "for_s": Key(integer),
    "severity": Key(choice("page", "ticket")),
    "clear_s": Key(integer),
    "thresholds": Key(listing(block(ALERT_THRESHOLD))),
    **dict.fromkeys(SHOWN_OF_ALERT_RULE, Key(anything, Use.KEEP)),
}

CHANNEL: Final[Table] = {
    "$schema": Key(text),
    "name": Key(text),
    "kind": Key(choice("webhook", "slack", "alertmanager", "email")),
    "enabled": Key(boolean),
    "url": Key(reference),
    "secret": Key(reference),
    "recipients": Key(listing(text)),
    "severities": Key(listing(choice("page", "ticket"))),
    "projects": Key(listing(text)),
    **dict.fromkeys(SHOWN_OF_CHANNEL, Key(anything, Use.KEEP)),
}

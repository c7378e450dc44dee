"""Pure: between what REST takes and shows, and Azure's resources."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils.dateparse import parse_duration

from controlplane.azure import collector
from controlplane.azure.errors import AzureInvalid, object_of
from controlplane.azure.types import LOCATION, Place, Values

AUTH_MODES: Final = {"key": "Key", "aml_token": "AMLToken", "aad_token": "AADToken"}
OWN_PROPERTY: Final = "azureml.onlineendpointid"  # what scripts read
ASSET_ID: Final = re.compile(
    r"(?:azureml:)?/subscriptions/[^/]+/resourceGroups/[^/]+/providers/[^/]+/workspaces/[^/]+"
    r"/(?P<kind>[a-z]+)/(?P<name>[^/]+)/versions/(?P<version>[^/]+)",
    re.IGNORECASE,
)
REFERENCE: Final = re.compile(r"azureml:(?P<name>[^/:]+):(?P<version>[^/:]+)")
# A probe's fields: Azure's name, ours, and whether it is a time.
PROBE: Final = (
    ("initialDelay", "initial_delay", True),
    ("period", "period", True),
    ("timeout", "timeout", True),
    ("successThreshold", "success_threshold", False),
    ("failureThreshold", "failure_threshold", False),
)
TIMES: Final = {"requestTimeout": "request_timeout_ms", "maxQueueWait": "max_queue_wait_ms"}
PROBES: Final = {"livenessProbe": "liveness_probe", "readinessProbe": "readiness_probe"}
# Of a deployment: kept and given back, as files say it.
KEPT: Final = {
    "appInsightsEnabled": "app_insights_enabled",
    "instanceType": "instance_type",
    "modelMountPath": "model_mount_path",
    "properties": "properties",
    "environmentId": "environment",
}
EGRESS: Final = "egress_public_network_access"
REFUSED: Final = {
    "startupProbe": "readiness_probe says when a replica gets requests",
    "privateNetworkConnection": "there is no private network to connect to",
}


def endpoint_values(body: Mapping[str, Any], properties: Mapping[str, Any]) -> Values:
    """What REST is sent for an endpoint's PUT. A map of shares that is not there stays.

    Raises AzureInvalid.
    """
    mode = str(properties.get("authMode") or "Key")
    known = {azure.lower(): ours for ours, azure in AUTH_MODES.items()}
    ours = known.get(mode.lower())
    if ours is None:
        raise AzureInvalid(
            f"authMode: {mode[:40]!r}, expected {', '.join(AUTH_MODES.values())}.",
            field="properties.authMode",
        )
    kept = {
        "identity": _identity_kept(body.get("identity")),
        "public_network_access": _switch_kept(properties.get("publicNetworkAccess")),
        "compute": properties.get("compute"),
        "properties": _without_own(properties.get("properties")),
        # our own tokens stand for a directory's
        "auth_mode": ours if ours == "aad_token" else None,
    }
    values: Values = {
        "description": properties.get("description") or "",
        "tags": texts(body.get("tags")),
        "auth_mode": "key" if ours == "key" else "aml_token",
        "declared": {name: value for name, value in kept.items() if value},
    }
    for azure, name in (("traffic", "traffic"), ("mirrorTraffic", "mirror_traffic")):
        if properties.get(azure) is not None:
            values[name] = properties[azure]
    return values


def endpoint_resource(shown: Mapping[str, Any], place: Place, *, state: str) -> Values:
    declared = shown["declared"]
    identity = place.id("onlineEndpoints", shown["name"])
    mode = declared.get("auth_mode") or shown["auth_mode"]
    return {
        "id": identity,
        "name": shown["name"],
        "type": "Microsoft.MachineLearningServices/workspaces/onlineEndpoints",
        "location": LOCATION,
        "kind": "Kubernetes" if declared.get("compute") else "Managed",
        "tags": shown["tags"],
        "identity": _identity(declared.get("identity")),
        "systemData": system_data(shown["created_by"], shown["created_at"], shown["updated_at"]),
        "properties": {
            "authMode": AUTH_MODES[mode],
            "description": shown["description"],
            "properties": {OWN_PROPERTY: identity, **(declared.get("properties") or {})},
            "provisioningState": state,
            "scoringUri": shown["scoring_uri"],
            "swaggerUri": shown["openapi_uri"],
            "traffic": shown["traffic"],
            "mirrorTraffic": shown["mirror_traffic"],
            "publicNetworkAccess": _switch(declared.get("public_network_access") or "enabled"),
            **({"compute": declared["compute"]} if declared.get("compute") else {}),
        },
    }


def _identity_kept(given: object) -> Values | None:
    """As files say it; None for the system's own, which the package names where nobody did."""
    found = given if isinstance(given, dict) else {}
    people = found.get("userAssignedIdentities")
    if found.get("type") != "UserAssigned" or not isinstance(people, dict):
        return None
    return {
        "type": "user_assigned",
        "user_assigned_identities": [{"resource_id": str(name)} for name in people],
    }


def _identity(kept: object) -> Values:
    """The package asks of what kind it is."""
    found = kept if isinstance(kept, dict) else {}
    rows = found.get("user_assigned_identities")
    if not isinstance(rows, list) or not rows:
        return {"type": "SystemAssigned"}
    names = [str(row.get("resource_id")) for row in rows if isinstance(row, dict)]
    return {"type": "UserAssigned", "userAssignedIdentities": {name: {} for name in names}}


def _switch_kept(given: object) -> str | None:
    """Azure's `Disabled` as files say it; what is on by default is not kept."""
    return "disabled" if str(given).lower() == "disabled" else None


def _switch(kept: object) -> str:
    return "Disabled" if str(kept).lower() == "disabled" else "Enabled"


def _without_own(given: object) -> Values:
    return {
        name: value
        for name, value in (given.items() if isinstance(given, dict) else ())
        if name not in (OWN_PROPERTY, "createdBy", "createdAt", "lastModifiedAt")
    }


def deployment_values(body: Mapping[str, Any], properties: Mapping[str, Any]) -> Values:
    """What REST is sent to make or change a deployment, but for its model. Raises AzureInvalid."""
    for name, why in REFUSED.items():
        if properties.get(name) is not None:
            raise AzureInvalid(f"{name} is not taken: {why}.", field=f"properties.{name}")
    scale = object_of(properties.get("scaleSettings"), "properties.scaleSettings")
    if scale.get("scaleType", "Default") != "Default":
        raise AzureInvalid(
            f"scaleType: {str(scale['scaleType'])[:40]!r}, expected Default.",
            field="properties.scaleSettings.scaleType",
            hints=("`autoscale` in a file for `shoal online-deployment` sets a policy.",),
        )
    kept = {ours: properties.get(azure) for azure, ours in KEPT.items()}
    kept[EGRESS] = _switch_kept(properties.get("egressPublicNetworkAccess"))
    if str(properties.get("endpointComputeType")).lower() == "kubernetes":
        kept["type"] = "kubernetes"
    code = object_of(properties.get("codeConfiguration"), "properties.codeConfiguration")
    if code:
        kept["code_configuration"] = {
            "code": code.get("codeId"),
            "scoring_script": code.get("scoringScript"),
        }
    values: Values = {
        "description": properties.get("description") or "",
        "tags": texts(body.get("tags")),
        "environment": texts(properties.get("environmentVariables")),
        "declared": {name: value for name, value in kept.items() if value},
    }
    if properties.get("dataCollector") is not None:
        values["capture"], block = collector.collector_values(properties["dataCollector"])
        values["declared"][collector.KEPT] = block
    for azure, ours in PROBES.items():
        if properties.get(azure) is not None:
            values[ours] = _probe_values(properties[azure], f"properties.{azure}")
    values |= _request_values(
        object_of(properties.get("requestSettings"), "properties.requestSettings")
    )
    capacity = object_of(body.get("sku"), "sku").get("capacity")
    if capacity is not None:
        values["instance_count"] = capacity
    return values


def _request_values(given: Mapping[str, Any]) -> Values:
    values = Values()
    for azure, ours in TIMES.items():
        if given.get(azure) is not None:
            field = f"properties.requestSettings.{azure}"
            values[ours] = _milliseconds(given[azure], field)
    if given.get("maxConcurrentRequestsPerInstance") is not None:
        values["max_concurrent_requests_per_instance"] = given["maxConcurrentRequestsPerInstance"]
    return values


def deployment_resource(shown: Mapping[str, Any], place: Place) -> Values:
    declared = shown["declared"]
    properties: Values = {
        "endpointComputeType": _compute_type(declared),
        "egressPublicNetworkAccess": _switch(declared.get(EGRESS)),
        "description": shown["description"],
        "model": place.id("models", shown["model"], "versions", shown["version"]),
        "environmentVariables": shown["environment"],
        "provisioningState": shown["provisioning_state"],
        "properties": {},
        "scaleSettings": {"scaleType": "Default"},
        "requestSettings": {
            "requestTimeout": duration(milliseconds=shown["request_timeout_ms"]),
            "maxQueueWait": duration(milliseconds=shown["max_queue_wait_ms"]),
            "maxConcurrentRequestsPerInstance": shown["max_concurrent_requests_per_instance"],
        },
        **{azure: declared[ours] for azure, ours in KEPT.items() if declared.get(ours)},
    }
    if "environmentId" in properties:
        properties["environmentId"] = _asset_id(properties["environmentId"], "environments", place)
    code = declared.get("code_configuration")
    if code:
        properties["codeConfiguration"] = {
            "codeId": _asset_id(code.get("code"), "codes", place),
            "scoringScript": code.get("scoring_script"),
        }
    collected = collector.collector_shown(shown["capture"], declared.get(collector.KEPT))
    if collected is not None:
        properties["dataCollector"] = collected
    for azure, ours in PROBES.items():
        if shown[ours] is not None:
            properties[azure] = {
                name: duration(seconds=shown[ours][own]) if time else shown[ours][own]
                for name, own, time in PROBE
            }
    return {
        "id": place.id("onlineEndpoints", shown["endpoint"], "deployments", shown["name"]),
        "name": shown["name"],
        "type": "Microsoft.MachineLearningServices/workspaces/onlineEndpoints/deployments",
        "location": LOCATION,
        "kind": _compute_type(declared),
        "tags": shown["tags"],
        "sku": {"name": "Default", "tier": "Standard", "capacity": shown["instance_count"]},
        "systemData": system_data("", shown["created_at"], shown["updated_at"]),
        "properties": properties,
    }


def _compute_type(declared: Mapping[str, Any]) -> str:
    return "Kubernetes" if declared.get("type") == "kubernetes" else "Managed"


def _asset_id(reference: object, kind: str, place: Place) -> object:
    """The ARM id of what files call `azureml:<name>:<version>`; anything else as it is."""
    found = REFERENCE.fullmatch(str(reference))
    return place.id(kind, found["name"], "versions", found["version"]) if found else reference


def _probe_values(given: object, field: str) -> Values:
    found = object_of(given, field)
    return {
        ours: _milliseconds(found[azure], f"{field}.{azure}") // 1000 if time else found[azure]
        for azure, ours, time in PROBE
        if found.get(azure) is not None
    }


def _milliseconds(value: object, field: str) -> int:
    iso = isinstance(value, str) and value.startswith("P")
    try:
        found = parse_duration(str(value)) if iso else None
    except OverflowError:
        found = None
    if found is None:
        raise AzureInvalid(f"{field}: {str(value)[:40]!r}, expected a time as PT5S.", field=field)
    return found // timedelta(milliseconds=1)


def duration(*, seconds: float | None = None, milliseconds: int | None = None) -> str | None:
    """As ISO 8601 has it, of seconds alone; None where there is none."""
    if milliseconds is not None:
        seconds = milliseconds / 1000
    return None if seconds is None else f"PT{seconds:g}S"


def asset_of(reference: object, kind: str, field: str) -> tuple[str, str]:
    """Name and version of an asset by its ARM id. Raises AzureInvalid."""
    found = ASSET_ID.fullmatch(str(reference or ""))
    if found is None or found["kind"].lower() != kind.lower():
        raise AzureInvalid(
            f"{field}: {str(reference or '')[:120]!r}, expected the id of one of {kind} in this "
            "workspace.",
            field=field,
            hints=("Assets of registries and addresses of other places are not fetched: register "
                   "a copy here.",),
        )  # fmt: skip
    return found["name"], found["version"]


def system_data(created_by: str, created_at: datetime, updated_at: datetime) -> Values:
    return {
        "createdBy": created_by,
        "createdByType": "User",
        "createdAt": created_at.isoformat(),
        "lastModifiedBy": created_by,
        "lastModifiedByType": "User",
        "lastModifiedAt": updated_at.isoformat(),
    }


def texts(given: object) -> dict[str, str]:
    """Tags and variables are texts; a number or a truth value is written as YAML does."""
    return {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (given.items() if isinstance(given, dict) else ())
        if value is not None
    }


def operation_status(shown: Mapping[str, Any]) -> Values:
    """An operation as Azure's pollers read it, with the stages and the error as they are."""
    state = {"Queued": "InProgress", "Running": "InProgress"}.get(shown["state"], shown["state"])
    error = shown["error"]
    return {
        "id": shown["id"],
        "name": shown["id"],
        "status": state,
        "percentComplete": shown["percent"],
        "startTime": shown["created_at"].isoformat(),
        "endTime": shown["finished_at"].isoformat() if shown["finished_at"] else None,
        "properties": {"kind": shown["kind"], "stages": shown["stages"]},
        **({"error": _operation_error(error)} if error else _cancelled(state)),
    }


def _operation_error(error: Mapping[str, Any]) -> Values:
    told = [error["message"], error.get("detail") or ""]
    return {
        "code": error["code"],
        "message": " ".join(part for part in told if part),
        "details": [{"code": "Hint", "message": hint} for hint in error.get("hints") or ()],
    }


def _cancelled(state: str) -> Values:
    if state != "Canceled":
        return {}
    return {"error": {"code": "Canceled", "message": "Somebody cancelled it.", "details": []}}

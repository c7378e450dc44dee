"""Between the REST API's JSON and entities."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Final, cast

from shoal.client.errors import ShoalError
from shoal.client.types import Deployment, Endpoint, EnvironmentVersion, VersionSummary
from shoal.entities import (
    Environment,
    KubernetesOnlineDeployment,
    KubernetesOnlineEndpoint,
    ManagedOnlineDeployment,
    ManagedOnlineEndpoint,
    Model,
    OnlineDeployment,
    OnlineEndpoint,
    OnlineRequestSettings,
)
from shoal.entities.base import Values
from shoal.entities.settings import OwnSettings, TargetUtilizationScaleSettings
from shoal.sdk.capturing import capture_of

WORKSPACE_NAME: Final = "shoal"
WORKSPACE: Final = (
    "/subscriptions/shoal/resourceGroups/shoal/providers/Microsoft.MachineLearningServices"
    f"/workspaces/{WORKSPACE_NAME}"
)
OWN_ID: Final = "azureml.onlineendpointid"  # a property that scripts read
# What REST has fields of its own for; the rest of an entity is declared.
LIMITS: Final = ("cors_origins", "max_request_bytes", "rate_limit", "sticky")
ENDPOINT_FIELDS: Final = frozenset(
    {
        "name",
        "project",
        "description",
        "tags",
        "traffic",
        "mirror_traffic",
        "traffic_rules",
        "objectives",
        *LIMITS,
    }
)
AZURE_UTILIZATION: Final = 70  # percent, where a file does not say it
LEAST_INTERVAL_S: Final = 2
OWN_SETTINGS: Final = tuple(part.name for part in fields(OwnSettings))
DEPLOYMENT_FIELDS: Final = frozenset(
    {
        "name",
        "endpoint_name",
        "description",
        "tags",
        "model",
        "instance_count",
        "environment_variables",
        "autoscale",
        "capture",
        *OWN_SETTINGS,
    }
)
REQUEST_SETTINGS: Final = tuple(part.name for part in fields(OnlineRequestSettings))
ENVIRONMENT_FIELDS: Final = frozenset(
    {"name", "version", "description", "tags", "image", "conda_file"}
)
MODEL_FIELDS: Final = frozenset(
    {"name", "version", "project", "description", "tags", "path", "lineage", "job_name"}
)


def texts(values: Mapping[str, Any] | None) -> dict[str, str]:
    """Tags and environment variables are texts: ``true`` and ``3`` as YAML writes them."""
    return {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (values or {}).items()
        if value is not None
    }


def declared(values: Values, known: frozenset[str]) -> Values:
    """What is given beyond ``known``, without what says nothing."""
    return {
        name: value for name, value in values.items() if name not in known and value not in ({}, "")
    }


def endpoint_body(endpoint: OnlineEndpoint) -> Values:
    values = endpoint._to_dict()
    given = declared(values, ENDPOINT_FIELDS)
    if endpoint.auth_mode != "aad_token":
        del given["auth_mode"]  # else kept: there is no directory here, our own tokens stand for it
    if isinstance(endpoint, KubernetesOnlineEndpoint):
        given.setdefault("kind", "Kubernetes")
    given.get("properties", {}).pop(OWN_ID, None)
    return {
        "description": endpoint.description or "",
        "tags": texts(endpoint.tags),
        "auth_mode": "key" if endpoint.auth_mode == "key" else "aml_token",
        "declared": {name: value for name, value in given.items() if value != {}},
        **_limits(endpoint),
        **({"project": endpoint.project} if endpoint.project else {}),
        **_objectives(endpoint),
    }


def _objectives(endpoint: OnlineEndpoint) -> Values:
    if endpoint.objectives is None:
        return {}
    return {"objectives": [asdict(one) for one in endpoint.objectives]}


def _limits(endpoint: OnlineEndpoint) -> Values:
    """Those that the entity names; one that is empty is taken away."""
    named = {name: getattr(endpoint, name) for name in LIMITS}
    return {
        name: value or ([] if isinstance(value, list) else None)
        for name, value in named.items()
        if value is not None
    }


def endpoint_of(shown: Endpoint) -> OnlineEndpoint:
    given = dict(shown.get("declared") or {})
    kubernetes = str(given.get("kind", "")).lower() == "kubernetes" or "compute" in given
    kind = KubernetesOnlineEndpoint if kubernetes else ManagedOnlineEndpoint
    identity = f"{WORKSPACE}/onlineEndpoints/{shown['name']}"
    properties = {OWN_ID: identity, **(given.pop("properties", None) or {})}
    values = {
        "kind": "Managed",
        "location": "local",
        **_known(given, kind),
        "name": shown["name"],
        "project": shown.get("project"),
        "description": shown.get("description") or None,
        "tags": shown.get("tags"),
        "properties": properties,
        "auth_mode": given.get("auth_mode") or shown.get("auth_mode") or "key",
        "traffic": shown.get("traffic"),
        "mirror_traffic": shown.get("mirror_traffic"),
        "traffic_rules": shown.get("traffic_rules") or None,
        "objectives": shown.get("objectives"),
        **{name: shown.get(name) for name in LIMITS},
    }
    endpoint = kind(**values)
    endpoint.id = identity
    endpoint.scoring_uri = shown["scoring_uri"]
    endpoint.openapi_uri = cast(dict[str, Any], shown).get("openapi_uri")
    endpoint.provisioning_state = shown["provisioning_state"]
    endpoint.shown = cast(Values, shown)
    return endpoint


def deployment_body(deployment: OnlineDeployment) -> Values:
    """Without name and model."""
    values = deployment._to_dict()
    body: Values = {
        "description": deployment.description or "",
        "tags": texts(deployment.tags),
        "environment": texts(deployment.environment_variables),
        "declared": declared(values, DEPLOYMENT_FIELDS),
    }
    for name in REQUEST_SETTINGS:
        value = getattr(deployment.request_settings, name, None)
        if value is not None:
            body[name] = value
    for name in OWN_SETTINGS:
        value = getattr(deployment, name)
        if value is not None:
            body[name] = value or None
    if deployment.autoscale is not None:
        body["autoscale"] = deployment.autoscale or None
    elif deployment.scale_settings is not None:
        body["autoscale"] = policy_of(deployment)
    if (capture := capture_of(deployment)) is not None:
        body["capture"] = capture or None
    return body


def policy_of(deployment: OnlineDeployment) -> Values | None:
    """What ``scale_settings`` ask for as REST's policy; None: people decide.

    Azure's utilisation is the share of the requests that may be under way; where nobody said how
    many may, it is that of the processors.
    """
    scale = deployment.scale_settings
    if not isinstance(scale, TargetUtilizationScaleSettings):
        return None
    least = 1 if scale.min_instances is None else scale.min_instances
    percent = scale.target_utilization_percentage
    percent = AZURE_UTILIZATION if percent is None else percent
    at_a_time = getattr(deployment.request_settings, "max_concurrent_requests_per_instance", None)
    targets = {"in_flight": at_a_time * percent / 100} if at_a_time else {"cpu_percent": percent}
    return {
        "min": least,
        "max": least if scale.max_instances is None else scale.max_instances,
        "interval_s": max(LEAST_INTERVAL_S, scale.polling_interval or 0),
        "targets": targets,
    }


def deployment_of(shown: Deployment) -> OnlineDeployment:
    given = dict(shown.get("declared") or {})
    kubernetes = given.get("type") == "kubernetes"
    kind = KubernetesOnlineDeployment if kubernetes else ManagedOnlineDeployment
    settings = OnlineRequestSettings._of(given.pop("request_settings", None))
    settings = settings or OnlineRequestSettings()
    for name in REQUEST_SETTINGS:
        setattr(settings, name, shown.get(name))
    deployment = kind(
        **_known(given, kind)
        | {
            "name": shown["name"],
            "endpoint_name": shown["endpoint"],
            "description": shown.get("description") or None,
            "tags": shown.get("tags"),
            "model": f"azureml:{shown['model']}:{shown['version']}",
            "instance_count": shown["instance_count"],
            "environment_variables": shown.get("environment"),
            "request_settings": settings,
            "autoscale": shown.get("autoscale"),
            "capture": shown.get("capture"),
            **{name: shown.get(name) for name in OWN_SETTINGS},
        }
    )
    deployment.id = f"{WORKSPACE}/onlineEndpoints/{shown['endpoint']}/deployments/{shown['name']}"
    deployment.provisioning_state = shown["provisioning_state"]
    deployment.shown = cast(Values, shown)
    return deployment


def model_of(shown: VersionSummary) -> Model:
    given = dict(shown.get("declared") or {})
    lineage = cast(Values, shown.get("lineage") or {})
    values = {
        "type": shown.get("type"),
        **_known(given, Model),
        "name": shown["model"],
        "version": str(shown["version"]),
        "description": shown.get("description") or None,
        "tags": shown.get("tags"),
        "lineage": {name: value for name, value in lineage.items() if value} or None,
        # Azure's word for the run; versions of before have it declared
        "job_name": lineage.get("run") or given.get("job_name"),
    }
    model = Model(**values)
    model.id = f"{WORKSPACE}/models/{shown['model']}/versions/{shown['version']}"
    model.path = f"azureml:{shown['model']}:{shown['version']}"
    model.creation_context = {
        "created_at": shown.get("created_at"),
        "created_by": shown.get("created_by"),
        "created_by_type": "User",
    }
    model.shown = cast(Values, shown)
    return model


def environment_of(shown: EnvironmentVersion) -> Environment:
    environment = Environment(
        **_known(dict(shown["declared"]), Environment),
        name=shown["name"],
        version=str(shown["version"]),
        description=shown["description"] or None,
        tags=shown["tags"],
        image=shown["image"] or None,
        conda_file=shown["conda_file"],
    )
    environment.id = f"{WORKSPACE}/environments/{shown['name']}/versions/{shown['version']}"
    environment.shown = cast(Values, shown)
    return environment


def version_number(version: str | None) -> int | None:
    """Raises ShoalError: versions are numbers here."""
    if version is None:
        return None
    if not version.isdecimal() or int(version) < 1:
        raise ShoalError(
            f"{version!r} is no version",
            "versions are whole numbers from 1",
            ["Leave it out to get the next one."],
        )
    return int(version)


def as_shown(entity: OnlineEndpoint | OnlineDeployment | Model | Environment) -> Values:
    """What ``show`` prints: the entity and what the installation says about it."""
    values: Values = {"id": entity.id, **entity._to_dict()}
    if isinstance(entity, Environment):
        names = ("requirements", "archived", "digest", "used_by", "created_at", "created_by")
        return values | {name: entity.shown[name] for name in names}
    if isinstance(entity, Model):
        values["creation_context"] = entity.creation_context
        for name in ("archived", "digest", "size", "used_by", "repo_models", "manifest"):
            if name in entity.shown:
                values[name] = entity.shown[name]
        return values
    values["provisioning_state"] = entity.provisioning_state
    values["serving_state"] = entity.shown.get("serving_state")
    for name in ("autoscaling", "scoring_uri"):  # the second is of a local deployment
        if entity.shown.get(name):
            values[name] = entity.shown[name]
    if isinstance(entity, OnlineEndpoint):
        values["scoring_uri"] = entity.scoring_uri
        values["openapi_uri"] = entity.openapi_uri
        values["grpc_target"] = entity.shown.get("grpc_target")
        values.setdefault("identity", None)
    return values


def _known(values: Mapping[str, Any], kind: type) -> Values:
    names = {item.name for item in fields(kind)}
    return {name: value for name, value in values.items() if name in names}

"""The blocks of a deployment."""

import os
from dataclasses import dataclass
from typing import Any

from shoal.entities.base import Block, Entity, Values


@dataclass
class OnlineRequestSettings(Block):
    max_concurrent_requests_per_instance: int | None = None
    request_timeout_ms: int | None = None
    max_queue_wait_ms: int | None = None


@dataclass(kw_only=True)
class OwnSettings:
    """What a deployment's file may say beside Azure's words: each a number under REST's name.

    None: as it is; 0 takes it away.
    """

    response_cache_bytes: int | None = None


@dataclass(kw_only=True)
class ProbeSettings(Block):
    failure_threshold: int | None = None
    success_threshold: int | None = None
    timeout: int | None = None
    period: int | None = None
    initial_delay: int | None = None


@dataclass(kw_only=True)
class DefaultScaleSettings(Block):
    type: str = "default"


@dataclass(kw_only=True)
class TargetUtilizationScaleSettings(Block):
    type: str = "target_utilization"
    min_instances: int | None = None
    max_instances: int | None = None
    polling_interval: int | None = None
    target_utilization_percentage: int | None = None


@dataclass
class CodeConfiguration(Block):
    code: str | os.PathLike[str] | None = None
    scoring_script: str | os.PathLike[str] | None = None


@dataclass
class ResourceSettings(Block):
    cpu: str | None = None
    memory: str | None = None
    gpu: str | None = None

    @classmethod
    def _of(cls, values: Any) -> "ResourceSettings | None":
        """The schema's ``nvidia.com/gpu`` is the object's ``gpu``."""
        if isinstance(values, dict) and "nvidia.com/gpu" in values:
            values = {**values, "gpu": values["nvidia.com/gpu"]}
        return super()._of(values)


@dataclass
class ResourceRequirementsSettings(Block):
    requests: ResourceSettings | None = None
    limits: ResourceSettings | None = None

    def __post_init__(self) -> None:
        self.requests = ResourceSettings._of(self.requests)
        self.limits = ResourceSettings._of(self.limits)


@dataclass(kw_only=True)
class DeploymentCollection(Block):
    enabled: str | None = None
    data: Any = None
    client_id: str | None = None


@dataclass(kw_only=True)
class RequestLogging(Block):
    capture_headers: list[str] | None = None


@dataclass
class DataCollector(Block):
    collections: dict[str, Any]
    rolling_rate: str | None = None
    sampling_rate: float | None = None
    request_logging: RequestLogging | None = None

    def __post_init__(self) -> None:
        self.collections = {
            name: DeploymentCollection._of(item) for name, item in self.collections.items()
        }
        self.request_logging = RequestLogging._of(self.request_logging)


@dataclass(kw_only=True)
class Route(Block):
    port: int | None = None
    path: str | None = None


@dataclass(kw_only=True)
class BuildContext(Block):
    dockerfile_path: str | None = None
    path: str | os.PathLike[str] | None = None


@dataclass(kw_only=True)
class Environment(Entity):
    """Packages of scoring scripts. Triton models need none: the runtime is the environment."""

    version: str | None = None
    image: str | None = None
    build: Any = None
    conda_file: Any = None
    datastore: str | None = None
    os_type: str | None = None
    inference_config: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.version = None if self.version is None else str(self.version)
        self.shown: dict[str, Any] = {}

    def _to_dict(self) -> Values:
        values = super()._to_dict()
        if not values.get("properties"):
            values.pop("properties", None)
        return values


def scale_settings_of(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    if values.get("type") == "target_utilization":
        return TargetUtilizationScaleSettings._of(values)
    return DefaultScaleSettings()

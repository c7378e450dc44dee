"""Online deployments: a model that runs behind an endpoint."""

import os
from dataclasses import dataclass
from typing import Any

from shoal.entities.base import Entity, Values
from shoal.entities.model import Model
from shoal.entities.settings import (
    CodeConfiguration,
    DataCollector,
    DefaultScaleSettings,
    Environment,
    OnlineRequestSettings,
    OwnSettings,
    ProbeSettings,
    ResourceRequirementsSettings,
    TargetUtilizationScaleSettings,
    scale_settings_of,
)


@dataclass(kw_only=True)
class OnlineDeployment(OwnSettings, Entity):
    """``model``: one to register on the way, or ``azureml:name:version`` (or ``@label``).

    ``autoscale``: REST's policy; goes before ``scale_settings``, which are made into one.
    ``capture``: as REST has it; goes before ``data_collector``; empty: nothing is captured.
    """

    endpoint_name: str | None = None
    model: str | Model | None = None
    data_collector: DataCollector | None = None
    code_configuration: CodeConfiguration | None = None
    environment: str | Environment | None = None
    app_insights_enabled: bool | None = False
    autoscale: dict[str, Any] | None = None
    capture: dict[str, Any] | None = None
    scale_settings: DefaultScaleSettings | TargetUtilizationScaleSettings | None = None
    request_settings: OnlineRequestSettings | None = None
    liveness_probe: ProbeSettings | None = None
    readiness_probe: ProbeSettings | None = None
    startup_probe: ProbeSettings | None = None
    environment_variables: dict[str, Any] | None = None
    instance_count: int | None = None
    instance_type: str | None = None
    model_mount_path: str | None = None
    resources: ResourceRequirementsSettings | None = None
    egress_public_network_access: str | None = None
    private_network_connection: Any = None
    code_path: str | os.PathLike[str] | None = None
    scoring_script: str | os.PathLike[str] | None = None
    type: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.environment_variables = dict(self.environment_variables or {})
        self.request_settings = OnlineRequestSettings._of(self.request_settings)
        self.liveness_probe = ProbeSettings._of(self.liveness_probe)
        self.readiness_probe = ProbeSettings._of(self.readiness_probe)
        self.startup_probe = ProbeSettings._of(self.startup_probe)
        self.scale_settings = scale_settings_of(self.scale_settings)
        self.data_collector = DataCollector._of(self.data_collector)
        self.resources = ResourceRequirementsSettings._of(self.resources)
        if self.code_path or self.scoring_script:
            self.code_configuration = CodeConfiguration(self.code_path, self.scoring_script)
            self.code_path = self.scoring_script = None
        self.code_configuration = CodeConfiguration._of(self.code_configuration)
        self.environment = _block(Environment, self.environment)
        self.model = _block(Model, self.model)
        # what the installation says about it
        self.provisioning_state: str | None = None
        self.shown: Values = {}

    @property
    def request_timeout_ms(self) -> int | None:
        return self.request_settings.request_timeout_ms if self.request_settings else None


def _block(kind: type[Model] | type[Environment], value: Any) -> Any:
    """A reference stays a text, plain values become the entity."""
    return kind._of(value) if isinstance(value, dict) else value


@dataclass(kw_only=True)
class ManagedOnlineDeployment(OnlineDeployment):
    type: str | None = "managed"


@dataclass(kw_only=True)
class KubernetesOnlineDeployment(OnlineDeployment):
    type: str | None = "kubernetes"

"""Online deployments: put, changed, scaled, deleted, and what they write."""

from typing import Any, cast

from django.db import transaction
from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.models import User
from controlplane.accounts.permissions import actor, may
from controlplane.accounts.policy import Permission
from controlplane.azure.api.base import ArmView, body_of, checked, page, properties_of
from controlplane.azure.api.operations import accepted
from controlplane.azure.api.patience import Waiting, upload_read
from controlplane.azure.collector import collector_over
from controlplane.azure.errors import AzureInvalid
from controlplane.azure.services import assets
from controlplane.azure.shapes import asset_of, deployment_resource, deployment_values, texts
from controlplane.azure.types import Values
from controlplane.deployments import selectors
from controlplane.deployments.errors import DeploymentNotFound, EndpointNotFound
from controlplane.deployments.selectors.shown import deployment_shown
from controlplane.deployments.serializers.deployment_inputs import (
    DeploymentPatchSerializer,
    DeploymentPutSerializer,
)
from controlplane.deployments.services import Spec
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.environments.models import EnvironmentVersion
from controlplane.environments.selectors import version_get
from controlplane.metrics.selectors import log_lines
from controlplane.operations import services
from controlplane.operations.api.reading import variables_read
from controlplane.operations.models import Operation
from controlplane.operations.services.starting import BROKEN
from controlplane.registry.selectors import version_named
from controlplane.registry.services import registering

# Azure's words for the two streams.
STREAMS = {"storageinitializer": "storage-initializer", "inferenceserver": "inference-server"}
MOST_LINES = 5000


class DeploymentsView(ArmView):
    def get(self, request: Request, endpoint: str, **_: str) -> Response:
        del request
        row = selectors.endpoint_get(endpoint)
        shown = [deployment_shown(one, row, {}) for one in row.deployments.all()]
        return page([deployment_resource(one, self.place) for one in shown])


class DeploymentView(ArmView):
    def get(self, request: Request, endpoint: str, deployment: str, **_: str) -> Response:
        del request
        return Response(self._resource(endpoint, deployment))

    def _resource(self, endpoint: str, deployment: str) -> Values:
        row = selectors.deployment_get(endpoint, deployment)
        return deployment_resource(deployment_shown(row, row.endpoint, {}), self.place)

    def put(self, request: Request, endpoint: str, deployment: str, **_: str) -> Response:
        """Made, or changed without a gap. What only Shoal has of settings stays."""
        properties = properties_of(request)
        values = deployment_values(body_of(request), properties)
        ran = self._runs(request, endpoint, deployment, properties, values)
        if isinstance(ran, Waiting):
            return ran
        values |= ran
        with transaction.atomic():
            row = endpoint_lock(endpoint)
            existing = row.deployments.filter(name=deployment).first() if row else None
            if existing is not None and existing.provisioning_state not in BROKEN:
                before = existing.revision.settings.capture
                values = collector_over(values, before, existing.declared)
                operation = self._change(request, endpoint, deployment, values)
            else:
                operation = self._make(request, endpoint, deployment, values)
        code = status.HTTP_201_CREATED if existing is None else status.HTTP_200_OK
        body = self._resource(endpoint, deployment)
        if operation is None:
            return Response(body, status=code)
        return accepted(operation, self.place, code=code, body=body)

    def _runs(
        self, request: Request, endpoint: str, name: str, properties: Values, values: Values
    ) -> Values | Waiting:
        """Model and version. With a script they are made of it, and of all that it needs."""
        field = "properties.model"
        given = properties.get("model")
        model = asset_of(given, "models", field) if given is not None else None
        code = properties.get("codeConfiguration")
        environment = self._environment(properties, values)
        if not isinstance(code, dict):
            return {"model": model[0], "version": model[1]} if model else {}
        field = "properties.codeConfiguration.codeId"
        made = asset_of(code.get("codeId"), "codes", field)
        if environment is not None and environment.image and environment.conda_file is None:
            raise AzureInvalid(
                f"{environment.reference} is an image, and scripts run without one.",
                field="properties.environmentId",
                hints=("Give conda_file with the packages that the script needs.",),
            )
        row = selectors.endpoint_get(endpoint)
        called = f"{row.name}-{name}"
        upload = upload_read(
            request,
            lambda: assets.script_upload(
                user=cast(User, request.user),
                name=called,
                script=str(code.get("scoringScript") or ""),
                code=made,
                model=version_named(*model) if model else None,
                environment=environment,
                variables=values["environment"],
                project=row.project_name,
            ),
        )
        if isinstance(upload, Waiting):
            return upload
        version, _ = registering.model_version_register(
            name=called,
            upload_id=upload.pk,
            description=f"{code.get('scoringScript')} of deployment {endpoint}/{name}",
            declared={"environment": environment.reference} if environment else {},
            configs={},
            actor=actor(request),
            may_run_code=may(request, Permission.CODE),
        )
        values["declared"]["code_configuration"]["code"] = f"azureml:{called}:{version.version}"
        return {"model": called, "version": str(version.version)}

    @staticmethod
    def _environment(properties: Values, values: Values) -> EnvironmentVersion | None:
        """The one that is named, and kept as our own files name it."""
        given = properties.get("environmentId")
        if given is None:
            return None
        found = version_get(*asset_of(given, "environments", "properties.environmentId"))
        values["declared"]["environment"] = found.reference
        return found

    @staticmethod
    def _make(request: Request, endpoint: str, name: str, given: Values) -> Operation | None:
        values = checked(DeploymentPutSerializer, given)
        variables_read(values, request)
        done = services.deployment_put(
            endpoint=endpoint,
            name=name,
            spec=Spec(**values),
            actor=actor(request),
            now=timezone.now(),
        )
        return done.operation

    @staticmethod
    def _change(request: Request, endpoint: str, name: str, given: Values) -> Operation | None:
        values = checked(DeploymentPatchSerializer, given)
        kept = selectors.deployment_get(endpoint, name).revision.settings.environment
        variables_read(values, request, kept=kept)
        return services.deployment_patch(
            endpoint=endpoint, name=name, actor=actor(request), now=timezone.now(), **values
        )

    def patch(self, request: Request, endpoint: str, deployment: str, **_: str) -> Response:
        """Tags, and by `sku.capacity` how many replicas."""
        body = body_of(request)
        if strange := sorted(set(body) - {"tags", "sku"}):
            raise AzureInvalid(
                f"{strange[0][:60]} is not changed by PATCH; expected tags or sku.",
                field=strange[0][:60],
                hints=("PUT says all of it.",),
            )
        values: dict[str, Any] = {}
        if "tags" in body:
            values["tags"] = texts(body["tags"])
        if isinstance(body.get("sku"), dict) and body["sku"].get("capacity") is not None:
            values["instance_count"] = body["sku"]["capacity"]
        operation = self._change(request, endpoint, deployment, values)
        shown = self._resource(endpoint, deployment)
        if operation is None:
            return Response(shown)
        return accepted(operation, self.place, code=status.HTTP_202_ACCEPTED, body=shown)

    def delete(self, request: Request, endpoint: str, deployment: str, **_: str) -> Response:
        try:
            operation = services.deployment_delete(
                endpoint=endpoint,
                name=deployment,
                force=False,
                actor=actor(request),
                now=timezone.now(),
            )
        except (EndpointNotFound, DeploymentNotFound):
            return Response(status=status.HTTP_204_NO_CONTENT)
        return accepted(operation, self.place, code=status.HTTP_202_ACCEPTED)


class LogsView(ArmView):
    """A POST in Azure, and a read here: the last lines, as they were written."""

    write_permission = Permission.READ

    def post(self, request: Request, endpoint: str, deployment: str, **_: str) -> Response:
        body = body_of(request)
        tail, stream = body.get("tail") or 200, str(body.get("containerType") or "")
        if not isinstance(tail, int) or isinstance(tail, bool) or not 1 <= tail <= MOST_LINES:
            raise AzureInvalid(
                f"tail: {str(tail)[:40]!r}, expected 1 to {MOST_LINES}.", field="tail"
            )
        if stream and stream.lower() not in STREAMS:
            raise AzureInvalid(
                f"containerType: {stream[:40]!r}, expected StorageInitializer or InferenceServer.",
                field="containerType",
            )
        row = selectors.deployment_get(endpoint, deployment)
        found = log_lines(
            endpoint=endpoint,
            deployment=deployment,
            tail=tail,
            stream=STREAMS.get(stream.lower(), ""),
            since=selectors.told_since(row.endpoint),
        )
        return Response({"content": "\n".join(line.text for line in found.lines)})

"""Models and their versions, registered from what was sent to the datastore."""

import re
from typing import Any, Final, cast

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.models import User
from controlplane.accounts.permissions import actor, may
from controlplane.accounts.policy import Permission
from controlplane.azure.api.assets import archived_of, called, container, number_of
from controlplane.azure.api.base import ArmView, checked, properties_of
from controlplane.azure.api.patience import Waiting, upload_read
from controlplane.azure.errors import AzureInvalid
from controlplane.azure.selectors import folder_of
from controlplane.azure.services import assets
from controlplane.azure.services.folders import folder_leave
from controlplane.azure.shapes import system_data, texts
from controlplane.azure.types import DATASTORE, Place, Values
from controlplane.registry import selectors
from controlplane.registry.errors import ModelNotFound
from controlplane.registry.lineage import LONGEST, lineage_of
from controlplane.registry.models import Model, ModelVersion
from controlplane.registry.serializers.models import ModelVersionPatchSerializer
from controlplane.registry.services import registering, versions

SENT: Final = re.compile(
    r"azureml://(?:subscriptions/[^/]+/resourcegroups/[^/]+/workspaces/[^/]+/)?datastores/"
    r"workspaceblobstore/paths/(?P<place>LocalUpload/[^/]+)/(?P<path>.+)",
    re.IGNORECASE,
)
TYPES: Final = ("triton_model", "custom_model", "mlflow_model")
# Kept and given back.
KEPT: Final = {"flavors": "flavors", "stage": "stage", "properties": "properties"}


def uri_of(place: Place, row: ModelVersion) -> str:
    """Where it lies, in Azure's words: our own address of a version, which nothing else has."""
    return (
        f"azureml://subscriptions/{place.subscription}/resourcegroups/{place.group}"
        f"/workspaces/{place.workspace}/datastores/{DATASTORE}/paths/registered"
        f"/{row.model.name}/{row.version}"
    )


def version_resource(row: ModelVersion, place: Place) -> Values:
    declared = row.declared
    return {
        "id": place.id("models", row.model.name, "versions", row.version),
        "name": str(row.version),
        "type": "Microsoft.MachineLearningServices/workspaces/models/versions",
        "systemData": system_data(row.created_by, row.created_at, row.updated_at),
        "properties": {
            "modelUri": uri_of(place, row),
            "modelType": declared.get("type") or row.type,
            "description": row.description,
            "tags": row.tags,
            "isArchived": row.archived,
            "isAnonymous": False,
            "properties": declared.get("properties") or {},
            "flavors": declared.get("flavors") or {},
            "stage": declared.get("stage"),
            "jobName": lineage_of(row.lineage, row.stated_lineage).get("run") or None,
            "provisioningState": "Succeeded",
        },
    }


def model_resource(row: Model, place: Place) -> Values:
    return container(
        place,
        "models",
        row.name,
        latest=row.latest_version,
        archived=row.archived,
        description=row.description,
        tags=row.tags,
    ) | {"systemData": system_data("", row.created_at, row.updated_at)}


class ModelsView(ArmView):
    def get(self, request: Request, **_: str) -> Response:
        rows = selectors.model_list(archived=archived_of(request), project=self.project())
        return self.listed(request, rows.order_by("name"), model_resource)


class ModelView(ArmView):
    def get(self, request: Request, name: str, **_: str) -> Response:
        del request
        return Response(model_resource(selectors.model_get(name), self.place))

    def put(self, request: Request, name: str, **_: str) -> Response:
        """All of a model's versions archived, or brought back."""
        archived = properties_of(request).get("isArchived") is True
        change = versions.model_archive if archived else versions.model_restore
        return Response(model_resource(change(name=name, actor=actor(request)), self.place))


class VersionsView(ArmView):
    def get(self, request: Request, name: str, **_: str) -> Response:
        """The newest first."""
        selectors.model_get(name)
        rows = selectors.version_list(name).order_by("-version")
        view = archived_of(request)
        if view != "all":
            rows = rows.filter(archived=view == "archived")
        return self.listed(request, rows, version_resource)


class VersionView(ArmView):
    def get(self, request: Request, name: str, version: str, **_: str) -> Response:
        del request
        return Response(version_resource(selectors.version_get(name, version), self.place))

    def put(self, request: Request, name: str, version: str, **_: str) -> Response:
        """Registers what was sent, or changes the words about a version, and whether it is
        archived; its content never changes."""
        properties = properties_of(request)
        anonymous = properties.get("isAnonymous") is True
        number = number_of(version, anonymous=anonymous)
        uri = str(properties.get("modelUri") or "")
        found = SENT.fullmatch(uri)
        if found is None:
            row = self._known(name, version, uri)
            return Response(self._worded(request, row, properties))
        name = called(name, self.project(), anonymous=anonymous)
        user = cast(User, request.user)
        upload = upload_read(
            request,
            lambda: assets.model_upload(
                user=user,
                place=found["place"],
                path=found["path"].rstrip("/"),
                name=name,
                kind=str(properties.get("modelType") or ""),
                project=self.project(),
            ),
        )
        if isinstance(upload, Waiting):
            return upload
        values = _words(properties)
        row, created = registering.model_version_register(
            name=name,
            upload_id=upload.pk,
            description=values["description"],
            tags=values["tags"],
            declared=values["declared"],
            lineage=_stated(properties),
            configs={},
            version=number,
            actor=actor(request),
            may_run_code=may(request, Permission.CODE),
        )
        sent = folder_of(user, found["place"])
        if sent is not None and sent.upload_id != upload.pk:
            folder_leave(sent)
        body = (
            version_resource(row, self.place) if created else self._worded(request, row, properties)
        )
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return Response(body, status=code)

    def _known(self, name: str, version: str, uri: str) -> ModelVersion:
        """The version that ``uri`` is of. Raises AzureInvalid."""
        try:
            row = selectors.version_get(name, version)
        except ModelNotFound:
            row = None
        if row is None or uri != uri_of(self.place, row):
            raise AzureInvalid(
                f"modelUri: {uri[:200]!r}, expected files that were sent to the datastore "
                f"{DATASTORE}.",
                field="properties.modelUri",
                hints=("Give a local path. Addresses of other places are not fetched.",),
            )
        return row

    def _worded(self, request: Request, row: ModelVersion, properties: Values) -> Values:
        """``row`` with these words about it."""
        which: dict[str, Any] = {
            "name": row.model.name,
            "version": str(row.version),
            "actor": actor(request),
        }
        words = _words(properties)
        if stated := _stated(properties):  # what else was stated stays
            known = lineage_of(row.lineage, row.stated_lineage)
            words["lineage"] = {name: known.get(name, "") for name in LONGEST} | stated
        values = checked(ModelVersionPatchSerializer, words)
        versions.version_update(**which, **values)
        archived = properties.get("isArchived") is True
        change = versions.version_archive if archived else versions.version_restore
        return version_resource(change(**which), self.place)


def _stated(properties: Values) -> dict[str, str]:
    """The job that made it, in Azure's words, is the run."""
    job = properties.get("jobName")
    return {"run": str(job)} if job else {}


def _words(properties: Values) -> Values:
    kind = str(properties.get("modelType") or "")
    if kind and kind not in TYPES:
        raise AzureInvalid(
            f"modelType: {kind[:40]!r}, expected {', '.join(TYPES)}.", field="properties.modelType"
        )
    kept = {ours: properties.get(azure) for azure, ours in KEPT.items()}
    if kind == "mlflow_model":
        kept["type"] = kind
    return {
        "description": properties.get("description") or "",
        "tags": texts(properties.get("tags")),
        "declared": {name: value for name, value in kept.items() if value},
    }

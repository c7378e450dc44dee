"""Environments: lists of packages, by name and version."""

from typing import Any, Final

import yaml
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.azure.api.assets import archived_of, called, container, number_of
from controlplane.azure.api.base import ArmView, checked, properties_of
from controlplane.azure.errors import AzureInvalid
from controlplane.azure.services.assets import conda_read, packages_of
from controlplane.azure.shapes import system_data, texts
from controlplane.azure.types import Place, Values
from controlplane.environments import selectors, services
from controlplane.environments.models import EnvironmentVersion
from controlplane.environments.serializers import EnvironmentInputSerializer

# Kept and given back.
KEPT: Final = {
    "osType": "os_type",
    "inferenceConfig": "inference_config",
    "properties": "properties",
}


def version_resource(row: EnvironmentVersion, place: Place) -> Values:
    declared = row.declared
    return {
        "id": place.id("environments", row.name, "versions", row.version),
        "name": str(row.version),
        "type": "Microsoft.MachineLearningServices/workspaces/environments/versions",
        "systemData": system_data(row.created_by, row.created_at, row.updated_at),
        "properties": {
            "description": row.description,
            "tags": row.tags,
            "image": row.image or None,
            "condaFile": yaml.safe_dump(row.conda_file) if row.conda_file else None,
            "environmentType": "UserCreated",
            "isArchived": row.archived,
            "isAnonymous": False,
            **{azure: declared[ours] for azure, ours in KEPT.items() if declared.get(ours)},
        },
    }


def environment_resource(row: EnvironmentVersion, place: Place) -> Values:
    return container(
        place,
        "environments",
        row.name,
        latest=row.version,
        archived=row.archived,
        description=row.description,
        tags=row.tags,
    ) | {"systemData": system_data(row.created_by, row.created_at, row.updated_at)}


class EnvironmentsView(ArmView):
    def get(self, request: Request, **_: str) -> Response:
        rows = selectors.environment_list(archived=archived_of(request), project=self.project())
        return self.listed(request, rows.order_by("name"), environment_resource)


class EnvironmentView(ArmView):
    def get(self, request: Request, name: str, **_: str) -> Response:
        del request
        row = selectors.version_list(name, archived="all").order_by("-version")[0]
        return Response(environment_resource(row, self.place))

    def put(self, request: Request, name: str, **_: str) -> Response:
        """All of its versions archived, or brought back."""
        archived = properties_of(request).get("isArchived") is True
        row = services.environment_set_archived(
            name=name, version=None, archived=archived, actor=actor(request)
        )
        return Response(environment_resource(row, self.place))


class VersionsView(ArmView):
    def get(self, request: Request, name: str, **_: str) -> Response:
        rows = selectors.version_list(name, archived=archived_of(request)).order_by("-version")
        return self.listed(request, rows, version_resource)


class VersionView(ArmView):
    def get(self, request: Request, name: str, version: str, **_: str) -> Response:
        del request
        return Response(version_resource(selectors.version_get(name, version), self.place))

    def put(self, request: Request, name: str, version: str, **_: str) -> Response:
        """Registers a list of packages, or changes the words about one and whether it is archived.
        What pip cannot install is refused."""
        properties = properties_of(request)
        anonymous = properties.get("isAnonymous") is True
        name = called(name, self.project(), anonymous=anonymous)
        number = number_of(version, anonymous=anonymous)
        values = checked(EnvironmentInputSerializer, _values(name, number, properties))
        values["project"] = self.project()
        row, created = services.environment_register(actor=actor(request), **values)
        if not created:
            words: dict[str, Any] = {"name": name, "version": str(row.version)}
            told = {key: values[key] for key in ("description", "tags")}
            services.version_update(**words, **told, actor=actor(request))
            row = services.environment_set_archived(
                **words, archived=properties.get("isArchived") is True, actor=actor(request)
            )
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return Response(version_resource(row, self.place), status=code)


def _values(name: str, number: int | None, properties: Values) -> Values:
    """As REST takes them. Raises AzureInvalid."""
    if properties.get("build") is not None:
        raise AzureInvalid(
            "Images are not built: build.", field="properties.build", hints=("Give condaFile.",)
        )
    text, image = properties.get("condaFile"), properties.get("image") or ""
    if image and not text and not properties.get("inferenceConfig"):  # else it serves by itself
        raise AzureInvalid(
            f"image: {str(image)[:120]!r} alone does not say what a script needs.",
            field="properties.image",
            hints=("Give conda_file with its packages; the image is kept, not run.",),
        )
    listed = conda_read(str(text)) if text else None
    kept = {ours: properties.get(azure) for azure, ours in KEPT.items()}
    return {
        "name": name,
        "version": number,
        "description": properties.get("description") or "",
        "tags": texts(properties.get("tags")),
        "requirements": packages_of(listed).text if listed is not None else "",
        "conda_file": listed,
        "image": image,
        "declared": {key: value for key, value in kept.items() if value},
    }

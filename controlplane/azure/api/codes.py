"""Code assets: folders with scoring scripts, kept until deployments are made of them."""

import re
from typing import cast

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.models import ApiToken, User
from controlplane.azure import selectors
from controlplane.azure.api.base import ArmView, properties_of
from controlplane.azure.errors import AssetNotFound, AzureInvalid
from controlplane.azure.grants import grant
from controlplane.azure.models import SentFolder
from controlplane.azure.services import folders
from controlplane.azure.shapes import system_data
from controlplane.azure.types import BLOBS_PREFIX, Place, Values
from controlplane.registry.services.uploads import upload_keep

# why so few characters: both are part of an address, and what they name of a container's
PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def container_url(place: Place, container: str) -> str:
    return f"{settings.SHOAL_PUBLIC_URL}{BLOBS_PREFIX}{place.workspace}/store/{container}"


def code_resource(folder: SentFolder, place: Place) -> Values:
    said = folder.properties or {}
    name, version = said["name"], said["version"]
    owner = folder.owner.get_username()
    return {
        "id": place.id("codes", name, "versions", version),
        "name": version,
        "type": "Microsoft.MachineLearningServices/workspaces/codes/versions",
        "systemData": system_data(owner, folder.created_at, folder.updated_at),
        "properties": {
            "codeUri": said.get("codeUri"),
            "description": said.get("description"),
            "tags": said.get("tags") or {},
            "properties": said.get("properties") or {},
            "isAnonymous": said.get("isAnonymous") is True,
            "isArchived": False,
        },
    }


class CodeVersionsView(ArmView):
    def get(self, request: Request, name: str, **_: str) -> Response:
        """Those of this name; with ``hash`` those of that content, whatever they are called."""
        rows = selectors.code_of(cast(User, request.user))
        content = request.query_params.get("hash")
        rows = (
            rows.filter(properties__properties__hash_sha256=content)
            if content
            else rows.filter(properties__name=name)
        )
        if content and (newest := rows.first()) is not None:
            # who asks by content goes on with it instead of sending it again
            upload_keep(upload_id=newest.upload_id)
        return self.listed(request, rows, code_resource)


class CodeVersionView(ArmView):
    def get(self, request: Request, name: str, version: str, **_: str) -> Response:
        folder = selectors.code_folder(cast(User, request.user), name, version)
        if folder is None:
            raise AssetNotFound(f"There is no code {name[:60]}:{version[:60]}.")
        return Response(code_resource(folder, self.place))

    def put(self, request: Request, name: str, version: str, **_: str) -> Response:
        """What was sent is code from now on. Nothing runs it until it is deployed, and approved."""
        properties = properties_of(request)
        folder = selectors.folder_get(cast(User, request.user), selectors.code_place(name, version))
        kept = ("codeUri", "description", "tags", "properties", "isAnonymous")
        said = {key: properties.get(key) for key in kept}
        folders.code_keep(folder, {**said, "name": name, "version": version})
        return Response(code_resource(folder, self.place))


class PendingUploadView(ArmView):
    def post(self, request: Request, name: str, version: str, **_: str) -> Response:
        """An address that takes the files of this asset for an hour, from whoever has it."""
        for field, text in (("name", name), ("version", version)):
            if not PART.fullmatch(text):
                raise AzureInvalid(
                    f"{field}: {text[:60]!r}, expected letters, digits, dot, dash or underscore.",
                    field=field,
                )
        container = selectors.code_place(name, version)
        address = container_url(self.place, container)
        signature = grant(cast(ApiToken, request.auth), container)
        return Response(
            {
                "pendingUploadId": container,
                "pendingUploadType": "TemporaryBlobReference",
                "blobReferenceForConsumption": {
                    "blobUri": address,
                    "storageAccountArmId": self.place.id("datastores", "workspaceblobstore"),
                    "credential": {
                        "credentialType": "SAS",
                        "sasUri": f"{address}?sv=2023-01-03&sr=c&sp=rcwl&sig={signature}",
                    },
                },
            }
        )

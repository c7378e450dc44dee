"""The workspace, which is the installation, and the datastore that files are sent to."""

from urllib.parse import urlsplit

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.azure.api.base import ArmView, page
from controlplane.azure.errors import AssetNotFound, AzureInvalid
from controlplane.azure.types import BLOBS_PREFIX, DATASTORE, LOCATION, Place, Values


class WorkspaceView(ArmView):
    def get(self, request: Request, **_: str) -> Response:
        del request
        place = self.place
        properties = {
            "friendlyName": place.workspace,
            "description": "",
            "provisioningState": "Succeeded",
            "publicNetworkAccess": "Enabled",
            "workspaceId": place.workspace,
        }
        return Response(
            {
                "id": place.id(),
                "name": place.workspace,
                "type": "Microsoft.MachineLearningServices/workspaces",
                "location": LOCATION,
                "tags": {},
                "properties": properties,
            }
        )


class DatastoresView(ArmView):
    def get(self, request: Request, **_: str) -> Response:
        del request
        return page([datastore(self.place)])


class DatastoreView(ArmView):
    def get(self, request: Request, datastore_name: str, **_: str) -> Response:
        del request
        if datastore_name != DATASTORE:
            raise AssetNotFound(
                f"There is no datastore called {datastore_name[:60]!r}.",
                hints=(f"The only one is {DATASTORE}.",),
            )
        return Response(datastore(self.place))


def datastore(place: Place) -> Values:
    """One without credentials: the package sends the caller's own token with each file.

    It makes `https://{accountName}.blob.core.windows.net/` of this, so that our address stands
    before the last part of a path.
    """
    return {
        "id": place.id("datastores", DATASTORE),
        "name": DATASTORE,
        "type": "Microsoft.MachineLearningServices/workspaces/datastores",
        "properties": {
            "datastoreType": "AzureBlob",
            "accountName": f"{_host()}{BLOBS_PREFIX}{place.workspace}/store",
            "containerName": DATASTORE,
            "endpoint": "core.windows.net",
            "protocol": "https",
            "credentials": {"credentialsType": "None"},
            "isDefault": True,
            "tags": {},
            "properties": {},
        },
    }


def _host() -> str:
    parts = urlsplit(settings.SHOAL_PUBLIC_URL)
    if parts.scheme != "https":
        raise AzureInvalid(
            "Azure's package sends files over https alone, and this installation is called "
            f"{settings.SHOAL_PUBLIC_URL}.",
            code="HttpsNeeded",
            hints=(
                "An administrator puts a proxy with a certificate before it, and its address into "
                "SHOAL_PUBLIC_URL.",
                "Models that are registered already can be deployed without it.",
            ),
        )
    return parts.netloc

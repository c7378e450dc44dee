"""Data assets, as far as deployments need them: the package says one for each collection of a
`data_collector`, before it sends the deployment."""

import re
from typing import Final

from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.azure.api.base import ArmView, properties_of
from controlplane.azure.errors import AzureInvalid
from controlplane.azure.shapes import system_data

# Where the package says that captured files go.
COLLECTED: Final = re.compile(r"azureml://.*\bpaths/modelDataCollector/[^/]+/[^/]+/[^/]+/?")


class DataVersionView(ArmView):
    def put(self, request: Request, name: str, version: str, **_: str) -> Response:
        """Nothing is kept: captured files lie in the installation, whatever they are called."""
        place = str(properties_of(request).get("dataUri") or "")
        if COLLECTED.fullmatch(place) is None:
            raise AzureInvalid(
                f"dataUri: {place[:120]!r}: there are no data assets here.",
                field="properties.dataUri",
                hints=(
                    "Leave `data` of data_collector's collections out: files of captured data "
                    "lie in the installation, and `shoal capture download` fetches them.",
                ),
            )
        now = timezone.now()
        body = {
            "id": self.place.id("data", name, "versions", version),
            "name": version,
            "type": "Microsoft.MachineLearningServices/workspaces/data/versions",
            "systemData": system_data(actor(request), now, now),
            "properties": {
                "dataType": "uri_folder",
                "dataUri": place,
                "description": None,
                "tags": {},
                "properties": {},
                "isAnonymous": False,
                "isArchived": False,
            },
        }
        return Response(body, status=status.HTTP_201_CREATED)

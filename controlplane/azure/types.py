"""Where a request stands in Azure's tree of resources."""

from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings

Values = dict[str, Any]

LOCATION: Final = "local"
PROVIDER: Final = "providers/Microsoft.MachineLearningServices"
PREFIX: Final = "/subscriptions/"
BLOBS_PREFIX: Final = "/azureml/blobs/"
DATASTORE: Final = "workspaceblobstore"
# What the package's client sends in one request at most.
MAX_BLOB_BODY_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Place:
    """The workspace that a path names. There is one installation whatever it says; a workspace that
    is called as a project puts what is made into that project."""

    subscription: str
    group: str
    workspace: str

    def id(self, *path: object) -> str:
        """The ARM id of what stands at ``path`` below the workspace."""
        parts = [
            f"/subscriptions/{self.subscription}/resourceGroups/{self.group}/{PROVIDER}"
            f"/workspaces/{self.workspace}",
            *map(str, path),
        ]
        return "/".join(parts)

    def url(self, *path: object) -> str:
        return f"{settings.SHOAL_PUBLIC_URL}{self.id(*path)}"

    def location_url(self, kind: str, name: str) -> str:
        """Of what is asked for again and again: no part of the workspace in Azure."""
        return (
            f"{settings.SHOAL_PUBLIC_URL}/subscriptions/{self.subscription}/{PROVIDER}"
            f"/locations/{LOCATION}/{kind}/{name}"
        )

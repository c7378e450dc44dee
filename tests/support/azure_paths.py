"""Paths of Azure's clients."""

from typing import Final

PROVIDER: Final = "providers/Microsoft.MachineLearningServices"
WORKSPACE: Final = f"/subscriptions/s/resourceGroups/r/{PROVIDER}/workspaces/w"
STORE: Final = "/azureml/blobs/w/store.blob.core.windows.net"
SENT: Final = f"{STORE}/workspaceblobstore/LocalUpload"
DATASTORE: Final = (
    "azureml://subscriptions/s/resourcegroups/r/workspaces/w/datastores/workspaceblobstore/paths"
)


def workspace(name: str) -> str:
    return f"/subscriptions/s/resourceGroups/r/{PROVIDER}/workspaces/{name}"

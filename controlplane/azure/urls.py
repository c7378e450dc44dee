"""Routes at the root: Azure's clients put nothing of ours before them."""

from django.urls import path, re_path

from controlplane.azure.api import (
    base,
    blobs,
    codes,
    data,
    deployments,
    endpoints,
    environments,
    models,
    operations,
    workspaces,
)
from controlplane.azure.api.patience import patient
from controlplane.azure.types import BLOBS_PREFIX, PROVIDER

WORKSPACE = (
    f"subscriptions/<str:subscription>/resourceGroups/<str:group>/{PROVIDER}"
    "/workspaces/<str:workspace>"
)
ENDPOINTS = f"{WORKSPACE}/onlineEndpoints"
ENDPOINT = f"{ENDPOINTS}/<str:endpoint>"
DEPLOYMENT = f"{ENDPOINT}/deployments/<str:deployment>"
# As the datastore's address comes out of the package, and that of a code asset out of ours.
STORE = f"{BLOBS_PREFIX[1:]}<str:workspace>/<str:account>"
LOCATION = f"subscriptions/<str:subscription>/{PROVIDER}/locations/<str:location>"

urlpatterns = [
    path(WORKSPACE, workspaces.WorkspaceView.as_view()),
    path(f"{WORKSPACE}/datastores", workspaces.DatastoresView.as_view()),
    path(f"{WORKSPACE}/datastores/<str:datastore_name>", workspaces.DatastoreView.as_view()),
    path(f"{WORKSPACE}/models", models.ModelsView.as_view()),
    path(f"{WORKSPACE}/models/<str:name>", models.ModelView.as_view()),
    path(f"{WORKSPACE}/models/<str:name>/versions", models.VersionsView.as_view()),
    path(f"{WORKSPACE}/models/<str:name>/versions/<str:version>", patient(models.VersionView)),
    path(f"{WORKSPACE}/environments", environments.EnvironmentsView.as_view()),
    path(f"{WORKSPACE}/environments/<str:name>", environments.EnvironmentView.as_view()),
    path(f"{WORKSPACE}/environments/<str:name>/versions", environments.VersionsView.as_view()),
    path(
        f"{WORKSPACE}/environments/<str:name>/versions/<str:version>",
        environments.VersionView.as_view(),
    ),
    path(f"{WORKSPACE}/codes/<str:name>/versions", codes.CodeVersionsView.as_view()),
    path(f"{WORKSPACE}/codes/<str:name>/versions/<str:version>", codes.CodeVersionView.as_view()),
    path(
        f"{WORKSPACE}/codes/<str:name>/versions/<str:version>/startPendingUpload",
        codes.PendingUploadView.as_view(),
    ),
    path(f"{WORKSPACE}/data/<str:name>/versions/<str:version>", data.DataVersionView.as_view()),
    path(ENDPOINTS, endpoints.EndpointsView.as_view()),
    path(ENDPOINT, endpoints.EndpointView.as_view()),
    path(f"{ENDPOINT}/listKeys", endpoints.KeysView.as_view()),
    path(f"{ENDPOINT}/regenerateKeys", endpoints.KeysRegenerateView.as_view()),
    path(f"{ENDPOINT}/token", endpoints.TokenView.as_view()),
    path(f"{ENDPOINT}/deployments", deployments.DeploymentsView.as_view()),
    path(DEPLOYMENT, patient(deployments.DeploymentView)),
    path(f"{DEPLOYMENT}/getLogs", deployments.LogsView.as_view()),
    path(
        f"{LOCATION}/mfeOperationsStatus/<str:operation_id>",
        operations.OperationStatusView.as_view(),
    ),
    path(
        f"{LOCATION}/mfeOperationResults/keys/<str:endpoint>/<int:until>",
        operations.KeysResultView.as_view(),
    ),
    path(f"{STORE}/<str:container>", blobs.ContainerView.as_view()),
    path(f"{STORE}/<str:container>/<path:blob>", blobs.BlobView.as_view()),
    # why: what is not there is a 404 that clients can read, never the studio's page
    re_path(r"^(?:subscriptions|azureml)(?:/|$)", base.nothing_here),
]

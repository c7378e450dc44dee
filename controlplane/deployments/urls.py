"""Routes below /api/v1/ and /agent/v1/."""

from django.urls import path, re_path

from controlplane.deployments import agent_api
from controlplane.deployments.api import (
    changes,
    deployments,
    endpoints,
    events,
    nodes,
    operations,
    placement,
    traffic,
    trials,
)

urlpatterns = [
    path("endpoints", endpoints.EndpointsView.as_view()),
    path("endpoints/<str:endpoint>", endpoints.EndpointView.as_view()),
    path("endpoints/<str:endpoint>/traffic", traffic.TrafficView.as_view()),
    path("endpoints/<str:endpoint>/mirror", traffic.MirrorView.as_view()),
    path("endpoints/<str:endpoint>/keys/list", endpoints.KeysView.as_view()),
    path("endpoints/<str:endpoint>/keys/regenerate", endpoints.KeysRegenerateView.as_view()),
    path("endpoints/<str:endpoint>/token", endpoints.TokenView.as_view()),
    path("endpoints/<str:endpoint>/token/revoke", endpoints.TokensRevokeView.as_view()),
    path("endpoints/<str:endpoint>/openapi.json", endpoints.OpenapiView.as_view()),
    path("endpoints/<str:endpoint>/snippets", endpoints.SnippetsView.as_view()),
    path("endpoints/<str:endpoint>/metrics", endpoints.MetricsView.as_view()),
    path("endpoints/<str:endpoint>/deployments", deployments.DeploymentsView.as_view()),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>",
        deployments.DeploymentView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/logs",
        deployments.LogsView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/revisions",
        changes.RevisionsView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/update",
        changes.UpdateView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/rollback",
        changes.RollbackView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/restart",
        changes.RestartView.as_view(),
    ),
    path("endpoints/<str:endpoint>/deployments/<str:deployment>/stop", changes.StopView.as_view()),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/scale", changes.ScaleView.as_view()
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/replicas",
        changes.ReplicasView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/start", changes.StartView.as_view()
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/placement",
        placement.PlacementView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/models/<str:repo_model>/config",
        changes.ServedConfigView.as_view(),
    ),
    path("deploy", deployments.DeployView.as_view()),
    path("operations", operations.OperationsView.as_view()),
    path("operations/<str:operation_id>", operations.operation_or_wait),
    path("operations/<str:operation_id>/cancel", operations.OperationCancelView.as_view()),
    path("operations/<str:operation_id>/retry", operations.OperationRetryView.as_view()),
    path("try-loads", trials.TryLoadsView.as_view()),
    path("try-loads/<str:try_load_id>", trials.try_load_or_wait),
    path("try-loads/<str:try_load_id>/cancel", trials.TryLoadCancelView.as_view()),
    path("events", events.EventsView.as_view()),
    path("events/export", events.EventsExportView.as_view()),
    path("events/verify", events.AuditVerifyView.as_view()),
    path("nodes", nodes.NodesView.as_view()),
    path("nodes/<str:node>", nodes.NodeView.as_view()),
    path("nodes/<str:node>/cordon", nodes.NodeCordonView.as_view()),
    path("nodes/<str:node>/uncordon", nodes.NodeUncordonView.as_view()),
    path("nodes/<str:node>/drain", nodes.NodeDrainView.as_view()),
    path("nodes/<str:node>/cache", nodes.NodeCacheView.as_view()),
    path("drains", nodes.DrainsView.as_view()),
    path("placement/preview", placement.PlacementPreviewView.as_view()),
    path("instance-types", placement.InstanceTypesView.as_view()),
    path("instance-types/<str:name>", placement.InstanceTypeView.as_view()),
    path("overview", nodes.OverviewView.as_view()),
]

agent_urlpatterns = [
    path("desired", agent_api.DesiredDoor.as_view()),
    path("report", agent_api.ReportDoor.as_view()),
    path("samples", agent_api.SamplesDoor.as_view()),
    path("logs", agent_api.LogsDoor.as_view()),
    re_path(r"^blobs/(?P<sha256>[0-9a-f]{64})$", agent_api.BlobDoor.as_view()),
]

"""Routes below /api/v1/."""

from django.urls import path

from controlplane.operations.api import (
    changes,
    deployments,
    operations,
    rollouts,
    traffic,
)

urlpatterns = [
    path("endpoints/<str:endpoint>/traffic", traffic.TrafficView.as_view()),
    path("endpoints/<str:endpoint>/mirror", traffic.MirrorView.as_view()),
    path("endpoints/<str:endpoint>/rollouts/<str:rollout_id>", rollouts.RolloutView.as_view()),
    path(
        "endpoints/<str:endpoint>/rollouts/<str:rollout_id>/pause",
        rollouts.RolloutPauseView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/rollouts/<str:rollout_id>/resume",
        rollouts.RolloutResumeView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/rollouts/<str:rollout_id>/promote",
        rollouts.RolloutPromoteView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/rollouts/<str:rollout_id>/abort",
        rollouts.RolloutAbortView.as_view(),
    ),
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
        "endpoints/<str:endpoint>/deployments/<str:deployment>/autoscale/preview",
        changes.AutoscalePreviewView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/replicas",
        changes.ReplicasView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/start", changes.StartView.as_view()
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
]

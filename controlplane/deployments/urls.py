"""Routes below /api/v1/."""

from django.urls import path

from controlplane.deployments.api import (
    endpoints,
    placement,
    requests,
    series,
    sweeps,
    trials,
    tunings,
)

urlpatterns = [
    path("endpoints/<str:endpoint>/keys/list", endpoints.KeysView.as_view()),
    path("endpoints/<str:endpoint>/keys/regenerate", endpoints.KeysRegenerateView.as_view()),
    path("endpoints/<str:endpoint>/token", endpoints.TokenView.as_view()),
    path("endpoints/<str:endpoint>/token/revoke", endpoints.TokensRevokeView.as_view()),
    path("endpoints/<str:endpoint>/openapi.json", endpoints.OpenapiView.as_view()),
    path("endpoints/<str:endpoint>/snippets", endpoints.SnippetsView.as_view()),
    path("endpoints/<str:endpoint>/metrics", endpoints.MetricsView.as_view()),
    path("endpoints/<str:endpoint>/requests", requests.RequestsView.as_view()),
    path("endpoints/<str:endpoint>/requests/<path:request_id>", requests.RequestView.as_view()),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/placement",
        placement.PlacementView.as_view(),
    ),
    path("try-loads", trials.TryLoadsView.as_view()),
    path("try-loads/<str:try_load_id>", trials.try_load_or_wait),
    path("try-loads/<str:try_load_id>/cancel", trials.TryLoadCancelView.as_view()),
    path("sweeps/<str:sweep_id>", sweeps.sweep_or_wait),
    path("sweeps/<str:sweep_id>/cancel", sweeps.SweepCancelView.as_view()),
    path("sweeps/<str:sweep_id>/csv", sweeps.SweepCsvView.as_view()),
    path("tunings/<str:tuning_id>", tunings.tuning_or_wait),
    path("tunings/<str:tuning_id>/cancel", tunings.TuningCancelView.as_view()),
    path("tunings/<str:tuning_id>/apply", tunings.TuningApplyView.as_view()),
    path("metrics/query", series.QueryView.as_view()),
    path("placement/preview", placement.PlacementPreviewView.as_view()),
    path("instance-types", placement.InstanceTypesView.as_view()),
    path("instance-types/<str:name>", placement.InstanceTypeView.as_view()),
]

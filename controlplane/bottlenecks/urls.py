"""Routes below /api/v1/."""

from django.urls import path

from controlplane.bottlenecks import api

urlpatterns = [
    path("endpoints/<str:endpoint>/bottlenecks", api.BottlenecksView.as_view()),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/pipeline", api.PipelineView.as_view()
    ),
]

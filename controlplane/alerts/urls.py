"""Routes of objectives and alerts, below /api/v1/."""

from django.urls import path

from controlplane.alerts.api import objectives

urlpatterns = [
    path("endpoints/<str:endpoint>/objectives", objectives.ObjectivesView.as_view()),
    path("endpoints/<str:endpoint>/objectives/<str:objective>", objectives.ObjectiveView.as_view()),
    path(
        "endpoints/<str:endpoint>/objectives/<str:objective>/history",
        objectives.ObjectiveHistoryView.as_view(),
    ),
]

"""Routes below /api/v1/."""

from django.urls import path

from controlplane.experiments import api

urlpatterns = [
    path("endpoints/<str:endpoint>/experiment", api.ExperimentView.as_view()),
    path("endpoints/<str:endpoint>/traffic/watch", api.TrafficWatchView.as_view()),
]

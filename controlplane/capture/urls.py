"""Routes of captured data, below /api/v1/."""

from django.urls import path

from controlplane.capture import api

DEPLOYMENT = "endpoints/<str:endpoint>/deployments/<str:deployment>"

urlpatterns = [
    path(f"{DEPLOYMENT}/captured", api.CapturedFilesView.as_view()),
    path(f"{DEPLOYMENT}/captured/<str:file_id>", api.CapturedFileView.as_view()),
    path(f"{DEPLOYMENT}/captured-requests/<path:request_id>", api.CapturedRequestView.as_view()),
    path(f"{DEPLOYMENT}/data", api.CaptureStatisticsView.as_view()),
    path(f"{DEPLOYMENT}/data/baseline", api.CaptureBaselineView.as_view()),
    path(f"{DEPLOYMENT}/data/baseline/file", api.CaptureBaselineFileView.as_view()),
]

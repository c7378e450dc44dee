"""Routes below /agent/v1/."""

from django.urls import path, re_path

from controlplane.deployments import agent_api

urlpatterns = [
    path("desired", agent_api.DesiredView.as_view()),
    path("samples", agent_api.SamplesView.as_view()),
    path("logs", agent_api.LogsView.as_view()),
    re_path(r"^blobs/(?P<sha256>[0-9a-f]{64})$", agent_api.BlobView.as_view()),
]

"""Routes below /agent/v1/. Series and logs are shown by ``deployments``, which knows the names."""

from django.urls import URLPattern, path

from controlplane.metrics import agent_api

urlpatterns: list[URLPattern] = []

agent_urlpatterns = [
    path("samples", agent_api.SamplesDoor.as_view()),
    path("logs", agent_api.LogsDoor.as_view()),
]

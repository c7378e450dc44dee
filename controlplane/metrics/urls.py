"""Routes below /api/v1/ and /agent/v1/. The series and logs of an endpoint are shown by
``deployments``, which knows whether there is one."""

from django.urls import path

from controlplane.metrics import agent_api, api

urlpatterns = [path("metrics/query", api.QueryView.as_view())]

agent_urlpatterns = [
    path("samples", agent_api.SamplesDoor.as_view()),
    path("logs", agent_api.LogsDoor.as_view()),
]

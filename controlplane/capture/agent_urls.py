"""Routes below /agent/v1/."""

from django.urls import path

from controlplane.capture import agent_api

urlpatterns = [path("captured/<str:replica>/<str:name>", agent_api.CapturedView.as_view())]

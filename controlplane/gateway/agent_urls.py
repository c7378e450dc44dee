"""Routes below /agent/v1/: the API for gateway agents."""

from django.urls import path

from controlplane.gateway import agent_api

urlpatterns = [
    path("gateway/certificate", agent_api.certificate),
    path("gateway/serving-authority", agent_api.serving_authority),
    path("gateway/serving-certificate", agent_api.serving_certificate),
    path("gateway/snapshot", agent_api.snapshot),
    path("gateway/wake-ups", agent_api.wake_up_stream),
    path("gateway/bell", agent_api.wake_up_stream),  # of agents up to 2026-11
    path("gateway/report", agent_api.report),
    path("gateway/wake", agent_api.wake),
    path("gateway/leave", agent_api.leave),
    path("gateway/samples", agent_api.samples),
]

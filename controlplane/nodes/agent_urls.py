"""Routes below /agent/v1/."""

from django.urls import path

from controlplane.nodes import agent_api

wake_ups = agent_api.WakeUpStreamView.as_view()

urlpatterns = [
    path("register", agent_api.register),
    path("certificate", agent_api.CertificateView.as_view()),
    path("ca", agent_api.ca),
    path("wake-ups", wake_ups),
    path("bell", wake_ups),  # of agents up to 2026-11
    path("cache", agent_api.CacheView.as_view()),
]

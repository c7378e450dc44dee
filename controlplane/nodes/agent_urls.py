"""Routes below /agent/v1/."""

from django.urls import path

from controlplane.nodes import agent_api

urlpatterns = [
    path("register", agent_api.register),
    path("certificate", agent_api.CertificateView.as_view()),
    path("ca", agent_api.ca),
    path("bell", agent_api.WakeUpStreamView.as_view()),
    path("cache", agent_api.CacheView.as_view()),
]

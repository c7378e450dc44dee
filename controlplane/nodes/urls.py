"""Routes below /api/v1/ and /agent/v1/."""

from django.urls import path

from controlplane.nodes import agent_api, api

urlpatterns = [
    path("join-tokens", api.JoinTokensView.as_view()),
    path("join-tokens/<int:token_id>", api.JoinTokenView.as_view()),
]

agent_urlpatterns = [
    path("register", agent_api.RegisterView.as_view()),
    path("certificate", agent_api.CertificateView.as_view()),
    path("ca", agent_api.AuthorityView.as_view()),
    path("bell", agent_api.WakeUpStreamView.as_view()),
    path("cache", agent_api.CacheView.as_view()),
]

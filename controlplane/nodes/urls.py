"""Routes below /api/v1/."""

from django.urls import path

from controlplane.nodes import api

urlpatterns = [
    path("join-tokens", api.JoinTokensView.as_view()),
    path("join-tokens/<int:token_id>", api.JoinTokenView.as_view()),
]

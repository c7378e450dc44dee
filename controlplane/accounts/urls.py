"""Routes of accounts below /api/v1/."""

from django.urls import path

from controlplane.accounts import api

urlpatterns = [
    path("session", api.SessionView.as_view()),
    path("tokens", api.TokensView.as_view()),
    path("tokens/<int:token_id>", api.TokenView.as_view()),
]

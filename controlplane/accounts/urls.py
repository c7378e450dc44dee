"""Routes of accounts below /api/v1/."""

from django.urls import path

from controlplane.accounts.api import (
    second_factors,
    service_accounts,
    sessions,
    setup,
    tokens,
    users,
)

urlpatterns = [
    path("setup", setup.SetupView.as_view()),
    path("session", sessions.SessionView.as_view()),
    path("session/password", sessions.PasswordView.as_view()),
    path("session/second-factor", second_factors.SecondFactorView.as_view()),
    path("session/second-factor/confirm", second_factors.SecondFactorConfirmView.as_view()),
    path("session/second-factor/disable", second_factors.SecondFactorDisableView.as_view()),
    path("sessions", sessions.BrowserSessionsView.as_view()),
    path("sessions/<int:session_id>", sessions.BrowserSessionView.as_view()),
    path("tokens", tokens.TokensView.as_view()),
    path("tokens/<int:token_id>", tokens.TokenView.as_view()),
    path("service-accounts", service_accounts.ServiceAccountsView.as_view()),
    path("service-accounts/<str:name>", service_accounts.ServiceAccountView.as_view()),
    path("service-accounts/<str:name>/rotate", service_accounts.ServiceAccountRotateView.as_view()),
    path("users", users.UsersView.as_view()),
    path("users/<str:username>", users.UserView.as_view()),
    path("users/<str:username>/password", users.UserPasswordView.as_view()),
    path("users/<str:username>/second-factor", second_factors.UserSecondFactorView.as_view()),
]

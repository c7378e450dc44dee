"""Pages that a provider leads browsers through; not REST."""

from django.urls import path

from controlplane.accounts.api import oidc

urlpatterns = [
    path("oidc/login", oidc.begin),
    path("oidc/callback", oidc.callback),
]

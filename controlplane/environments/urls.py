"""Routes of environments below /api/v1/."""

from django.urls import path

from controlplane.environments import api

ONE = "environments/<str:name>"
VERSION = f"{ONE}/versions/<str:version>"

urlpatterns = [
    path("environments", api.EnvironmentsView.as_view()),
    path(f"{ONE}/archive", api.EnvironmentArchiveView.as_view()),
    path(f"{ONE}/restore", api.EnvironmentRestoreView.as_view()),
    path(f"{ONE}/versions", api.EnvironmentVersionsView.as_view()),
    path(VERSION, api.EnvironmentVersionView.as_view()),
    path(f"{VERSION}/archive", api.EnvironmentVersionArchiveView.as_view()),
    path(f"{VERSION}/restore", api.EnvironmentVersionRestoreView.as_view()),
]

"""Routes of the system page below /api/v1/."""

from django.urls import path

from controlplane.system import api

urlpatterns = [
    path("system", api.SystemView.as_view()),
    path("system/sbom", api.SbomView.as_view()),
]

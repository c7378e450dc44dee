"""Routes of the system page, and of what Prometheus scrapes, below /api/v1/."""

from django.urls import path

from controlplane.system import api, exposition

urlpatterns = [
    path("metrics", exposition.MetricsView.as_view()),
    path("metrics/targets", exposition.MetricsTargetsView.as_view()),
    path("system", api.SystemView.as_view()),
    path("system/sbom", api.SbomView.as_view()),
    path("system/support", api.SupportView.as_view()),
]

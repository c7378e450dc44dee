"""Routes below /api/v1/."""

from django.urls import path

from controlplane.console import api, exposition

urlpatterns = [
    path("metrics", exposition.MetricsView.as_view()),
    path("metrics/targets", exposition.MetricsTargetsView.as_view()),
    path("test-cases", api.TestCasesView.as_view()),
    path("test-cases/<str:case_id>", api.TestCaseView.as_view()),
]

"""Routes below /api/v1/."""

from django.urls import path

from controlplane.console import api, sweeps, tunings

urlpatterns = [
    path("test-cases", api.TestCasesView.as_view()),
    path("test-cases/<str:case_id>", api.TestCaseView.as_view()),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/sweeps",
        sweeps.SweepsView.as_view(),
    ),
    path(
        "endpoints/<str:endpoint>/deployments/<str:deployment>/tunings",
        tunings.TuningsView.as_view(),
    ),
]

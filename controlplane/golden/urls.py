"""Routes below /api/v1/."""

from django.urls import path

from controlplane.golden import api, arms_api

urlpatterns = [
    path("endpoints/<str:endpoint>/test-cases/run", api.TestCasesRunView.as_view()),
    path("endpoints/<str:endpoint>/test-cases/accept", api.TestCasesAcceptView.as_view()),
    path("endpoints/<str:endpoint>/experiment/answers", arms_api.ExperimentAnswersView.as_view()),
    path("endpoints/<str:endpoint>/rollouts", api.RolloutsView.as_view()),
    path(
        "endpoints/<str:endpoint>/rollouts/<str:rollout_id>/differences",
        api.RolloutDifferencesView.as_view(),
    ),
]

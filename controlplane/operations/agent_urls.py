"""Routes below /agent/v1/."""

from django.urls import path

from controlplane.operations import agent_api

urlpatterns = [
    path("report", agent_api.ReportView.as_view()),
    path("leave", agent_api.LeaveView.as_view()),
]

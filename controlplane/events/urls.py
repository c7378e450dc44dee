"""Routes below /api/v1/."""

from django.urls import path

from controlplane.events import api

urlpatterns = [
    path("events", api.EventsView.as_view()),
    path("events/export", api.EventsExportView.as_view()),
    path("events/archives", api.EventArchivesView.as_view()),
    path("events/archives/<int:number>/export", api.EventArchiveExportView.as_view()),
    path("events/verify", api.AuditVerifyView.as_view()),
]

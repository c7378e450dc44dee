"""Routes of drafts below /api/v1/."""

from django.urls import path

from controlplane.drafts import api

urlpatterns = [
    path("drafts", api.DraftsView.as_view()),
    path("drafts/<str:draft_id>", api.DraftView.as_view()),
]

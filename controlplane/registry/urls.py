"""Routes of the registry below /api/v1/."""

from django.urls import path

from controlplane.registry.api import configs, models, uploads

urlpatterns = [
    path("uploads", uploads.UploadsView.as_view()),
    path("uploads/<str:upload_id>", uploads.UploadView.as_view()),
    path("uploads/<str:upload_id>/complete", uploads.UploadCompleteView.as_view()),
    path("models", models.ModelsView.as_view()),
    path("models/<str:name>", models.ModelView.as_view()),
    path("models/<str:name>/archive", models.ModelArchiveView.as_view()),
    path("models/<str:name>/restore", models.ModelRestoreView.as_view()),
    path("models/<str:name>/versions", models.ModelVersionsView.as_view()),
    path("models/<str:name>/versions/<str:version>", models.ModelVersionView.as_view()),
    path(
        "models/<str:name>/versions/<str:version>/archive",
        models.ModelVersionArchiveView.as_view(),
    ),
    path(
        "models/<str:name>/versions/<str:version>/restore",
        models.ModelVersionRestoreView.as_view(),
    ),
    path("config/validate", configs.ConfigValidateView.as_view()),
    path("config/render", configs.ConfigRenderView.as_view()),
]

"""Routes of the registry below /api/v1/."""

from django.urls import path

from controlplane.registry.api import (
    configs,
    contents,
    drafts,
    models,
    revisions,
    signatures,
    upload_files,
    uploads,
)

urlpatterns = [
    path("imports", uploads.ImportsView.as_view()),
    path("uploads", uploads.UploadsView.as_view()),
    path("uploads/<str:upload_id>", uploads.UploadView.as_view()),
    path("uploads/<str:upload_id>/complete", uploads.UploadCompleteView.as_view()),
    path("uploads/<str:upload_id>/files", upload_files.UploadFilesView.as_view()),
    path("uploads/<str:upload_id>/files/<str:sha256>", upload_files.UploadFileView.as_view()),
    path("drafts", drafts.DraftsView.as_view()),
    path("drafts/<str:draft_id>", drafts.DraftView.as_view()),
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
    path(
        "models/<str:name>/versions/<str:version>/approve",
        models.ModelVersionApproveView.as_view(),
    ),
    path(
        "models/<str:name>/versions/<str:version>/signatures",
        signatures.SignaturesView.as_view(),
    ),
    path("signing-keys", signatures.SigningKeysView.as_view()),
    path("signing-keys/<str:key_id>", signatures.SigningKeyView.as_view()),
    path("models/<str:name>/aliases/<str:alias>", contents.AliasView.as_view()),
    path("models/<str:name>/versions/<str:version>/usage", contents.UsageView.as_view()),
    path("models/<str:name>/versions/<str:version>/files", contents.FilesView.as_view()),
    path("models/<str:name>/versions/<str:version>/files/<path:path>", contents.FileView.as_view()),
    path("models/<str:name>/versions/<str:version>/archive.zip", contents.ArchiveView.as_view()),
    path(
        "models/<str:name>/versions/<str:version>/repo-models", revisions.RepoModelsView.as_view()
    ),
    path(
        "models/<str:name>/versions/<str:version>/repo-models/<str:repo_model>/config",
        revisions.RepoModelConfigView.as_view(),
    ),
    path(
        "models/<str:name>/versions/<str:version>/config-revisions",
        revisions.ConfigRevisionsView.as_view(),
    ),
    path(
        "models/<str:name>/versions/<str:version>/config-revisions/<int:number>",
        revisions.ConfigRevisionView.as_view(),
    ),
    path(
        "models/<str:name>/versions/<str:version>/config-revisions/<int:number>/diff",
        revisions.ConfigDiffView.as_view(),
    ),
    path("storage", contents.StorageView.as_view()),
    path("storage/collect", contents.StorageCollectView.as_view()),
    path("config/validate", configs.ConfigValidateView.as_view()),
    path("config/render", configs.ConfigRenderView.as_view()),
]

from django.apps import AppConfig


class DraftsConfig(AppConfig):
    name = "controlplane.drafts"
    label = "drafts"
    default_auto_field = "django.db.models.BigAutoField"

from django.apps import AppConfig


class CaptureConfig(AppConfig):
    name = "controlplane.capture"
    label = "capture"
    default_auto_field = "django.db.models.BigAutoField"

from django.apps import AppConfig


class GoldenConfig(AppConfig):
    name = "controlplane.golden"
    label = "golden"
    default_auto_field = "django.db.models.BigAutoField"

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "controlplane.gateway"
    label = "gateway"
    default_auto_field = "django.db.models.BigAutoField"

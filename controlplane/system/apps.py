from django.apps import AppConfig


class SystemConfig(AppConfig):
    name = "controlplane.system"
    label = "system"

from django.apps import AppConfig


class AzureConfig(AppConfig):
    name = "controlplane.azure"
    label = "azure"

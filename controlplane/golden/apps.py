from django.apps import AppConfig


class GoldenConfig(AppConfig):
    name = "controlplane.golden"
    label = "golden"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from controlplane.golden.presence import have_cases  # noqa: PLC0415 - needs all models
        from controlplane.operations.services import golden_cases_known  # noqa: PLC0415

        golden_cases_known(have_cases)

from typing import TYPE_CHECKING

from django.apps import AppConfig

from controlplane.operations import golden_cases

if TYPE_CHECKING:
    from controlplane.deployments.models import Deployment


class GoldenConfig(AppConfig):
    name = "controlplane.golden"
    label = "golden"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        golden_cases.known_by(_have_cases)


def _have_cases(deployment: "Deployment") -> bool:
    from controlplane.golden.presence import have_cases  # noqa: PLC0415 # needs all models

    return have_cases(deployment)

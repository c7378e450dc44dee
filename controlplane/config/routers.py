"""Which database a model lives in."""

from typing import Any

from django.db.models import Model

METRICS_DATABASE = "metrics"


class MetricsRouter:
    """Samples and log lines go to the metrics database, all else to the default one."""

    def db_for_read(self, model: type[Model], **_: Any) -> str | None:
        return METRICS_DATABASE if model._meta.app_label == "metrics" else None

    def db_for_write(self, model: type[Model], **_: Any) -> str | None:
        return METRICS_DATABASE if model._meta.app_label == "metrics" else None

    def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool:
        return (db == METRICS_DATABASE) == (app_label == "metrics")

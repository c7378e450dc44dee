"""Makes our Celery application the current one wherever Django is set up."""

from django.apps import AppConfig

from controlplane.config.celery import app


class WiringConfig(AppConfig):
    name = "controlplane.config"
    label = "config"

    def ready(self) -> None:
        # why: `celery.current_app` of a thread that never saw the app falls back to the default.
        app.set_default()

"""Django over HTTP behind its guards: all that agents are served, and half of what browsers are."""

import os
from typing import cast

import django
from django.core.handlers.asgi import ASGIHandler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.config.settings")
# why here: importing the guards below needs it.
django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402

from controlplane.azure.grants import may_send  # noqa: E402
from controlplane.azure.types import BLOBS_PREFIX, MAX_BLOB_BODY_BYTES  # noqa: E402
from controlplane.config.agent_pool import AgentRequestPool  # noqa: E402
from controlplane.config.guards import Application, BodyLimit, LargerBodies  # noqa: E402


def http_application() -> Application:
    """Serves the routes, and through the middlewares, that the settings name at this moment."""
    django_application = cast(Application, ASGIHandler())
    # why more there: Azure's client sends a file of up to 64 MiB in one piece, and cannot be told
    blobs = LargerBodies(BLOBS_PREFIX, MAX_BLOB_BODY_BYTES, may_send)
    return BodyLimit(
        AgentRequestPool(django_application),
        max_bytes=settings.SHOAL_MAX_BODY_BYTES,
        exception=blobs if settings.SHOAL_AZURE_API else None,
    )

"""Django over HTTP behind its guards: all that agents are served, and half of what browsers are."""

import os
from typing import cast

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.config.settings")
# why here: it sets Django up, which importing the guards below needs.
django_application = get_asgi_application()

from django.conf import settings  # noqa: E402

from controlplane.config.agent_pool import AgentRequestPool  # noqa: E402
from controlplane.config.guards import Application, BodyLimit  # noqa: E402

http_application = BodyLimit(
    AgentRequestPool(cast(Application, django_application)), max_bytes=settings.SHOAL_MAX_BODY_BYTES
)

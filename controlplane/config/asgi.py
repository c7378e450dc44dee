"""What uvicorn serves: Django over HTTP, Channels over WebSocket, each behind its own guard."""

import os
from typing import cast

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.config.settings")
# why here: it sets Django up, which importing the consumers below needs.
django_application = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware  # noqa: E402

from controlplane.config.agent_pool import AgentRequestPool  # noqa: E402
from controlplane.config.guards import Application, BodyLimit, SameOrigin  # noqa: E402
from controlplane.console.routing import websocket_urlpatterns  # noqa: E402

http_application = BodyLimit(
    AgentRequestPool(cast(Application, django_application)), max_bytes=settings.SHOAL_MAX_BODY_BYTES
)
application = ProxyHeadersMiddleware(
    ProtocolTypeRouter(
        {
            "http": http_application,
            "websocket": SameOrigin(
                AuthMiddlewareStack(URLRouter(websocket_urlpatterns)),
                trusted=frozenset(settings.CSRF_TRUSTED_ORIGINS),
            ),
        }
    ),
    # why here: uvicorn's own believes loopback unless told otherwise, and is off by its flag
    trusted_hosts=list(settings.SHOAL_TRUSTED_PROXIES),
)

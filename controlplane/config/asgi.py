"""What uvicorn serves: Django over HTTP, Channels over WebSocket, each behind its own guard."""

# why before the others: it sets Django up, which importing the consumers below needs.
from controlplane.config.http_application import http_application  # isort: split

from controlplane.core.without import without

# why: REST framework's fields of PostgreSQL, which no model here has, read its driver, and its test
# client reads another one of HTTP: 13 MB
with without("django.contrib.postgres.fields", "requests"):
    import rest_framework.compat  # noqa: F401 # isort: split

from typing import cast

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from controlplane.accounts.remote_user import RemoteUserSockets
from controlplane.config.guards import Application, SameOrigin
from controlplane.config.remote_user import RemoteUserGuard
from controlplane.console.routing import websocket_urlpatterns

behind_proxies = ProxyHeadersMiddleware(
    ProtocolTypeRouter(
        {
            "http": http_application(),
            "websocket": SameOrigin(
                AuthMiddlewareStack(RemoteUserSockets(URLRouter(websocket_urlpatterns))),
                trusted=frozenset(settings.CSRF_TRUSTED_ORIGINS),
            ),
        }
    ),
    # why here: uvicorn's own believes loopback unless told otherwise, and is off by its flag
    trusted_hosts=list(settings.SHOAL_TRUSTED_PROXIES),
)
application = RemoteUserGuard(
    cast(Application, behind_proxies),
    remote=settings.SHOAL_REMOTE_USER,
    trusted=settings.SHOAL_TRUSTED_PROXIES,
)
